"""Vectors of texts in an SQLite file beside the graph, so that no text is embedded twice.

The file is a cache: one that is damaged or foreign is set aside and everything is embedded again.
A write-ahead log makes each `append` whole or absent after a kill, without waiting for the disk
at every step. SQLite checks only its log, so each row carries a checksum of its own.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arigraph_local.aside import free_name
from arigraph_local.errors import RunError
from arigraph_local.memory.search.embedder import Vectors

_APPLICATION = 0x41524756
_VERSION = 1
_TABLES = (
    "CREATE TABLE model (embedder BLOB NOT NULL, dimensions INTEGER NOT NULL)",
    "CREATE TABLE vector (row INTEGER PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL,"
    " checksum INTEGER NOT NULL)",
)
_COMPANIONS = ("-wal", "-journal", "-shm")
_BLOCK = 512  # rows read at a time
# What SQLite reports when the file is well and the surroundings are not.
_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_AUTH,
}


class _DamagedError(Exception):
    """The file is not a whole file of vectors."""


class VectorFile:
    """The vectors of `embedder`'s texts in `path`, raw as the model gave them.

    Raises `RunError` if the file cannot be opened, is in use, or is another embedder's.
    """

    def __init__(self, path: Path, embedder: str) -> None:
        self.path = path
        self._embedder = embedder
        self._rows = 0
        self._connection: sqlite3.Connection | None = None

    def read(self) -> tuple[list[str], Vectors]:
        """The texts held, in order, and their vectors, row by row.

        The array has as many rows again to grow into, which cost no memory until they are used.
        """
        try:
            return self._read()
        except _DamagedError:
            self.close()
            set_aside(self.path)
            return [], _nothing()
        except RunError:
            self.close()
            raise

    def append(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Write texts that are not held yet with their vectors, all of them or none."""
        rows = [
            (self._rows + number, raw_text, raw, _checksum(raw_text, raw))
            for number, text in enumerate(texts)
            for raw_text, raw in [(_encoded(text), vectors[number].tobytes())]
        ]
        try:
            connection = self._open()
            if not self._rows:
                # Rows of a few kilobytes waste half of the pages of the usual size.
                connection.execute("PRAGMA page_size = 16384")
                connection.execute("PRAGMA journal_mode = WAL")
            with _Transaction(connection):
                if not self._rows:
                    self._create(connection, vectors.shape[1])
                connection.executemany("INSERT INTO vector VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        self._rows += len(rows)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self.path, timeout=0.5, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA synchronous = NORMAL")
        return self._connection

    def _create(self, connection: sqlite3.Connection, dimensions: int) -> None:
        for table in _TABLES:
            connection.execute(table)
        name = self._embedder.encode("utf-8", "surrogatepass")
        connection.execute("INSERT INTO model VALUES (?, ?)", (name, dimensions))
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")

    def _read(self) -> tuple[list[str], Vectors]:
        if not self.path.exists():
            return [], _nothing()
        try:
            connection = self._open()
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return [], _nothing()
            texts, vectors = self._rows_read(connection, self._dimensions(connection))
        except sqlite3.Error as error:
            if _environmental(error):
                raise self._failure(error) from error
            raise _DamagedError from error
        except (UnicodeDecodeError, TypeError, ValueError) as error:
            raise _DamagedError from error
        self._rows = len(texts)
        return texts, vectors

    def _dimensions(self, connection: sqlite3.Connection) -> int:
        for pragma, expected in (("application_id", _APPLICATION), ("user_version", _VERSION)):
            if connection.execute(f"PRAGMA {pragma}").fetchone()[0] != expected:
                raise _DamagedError
        models = connection.execute("SELECT embedder, dimensions FROM model").fetchall()
        if len(models) != 1:
            raise _DamagedError
        name, dimensions = _decoded(models[0][0]), int(models[0][1])
        if name != self._embedder:
            raise RunError(
                f"{self.path} holds vectors of embedder '{name}', not of '{self._embedder}': "
                f"delete {self.path} to embed everything again"
            )
        return dimensions

    def _rows_read(
        self, connection: sqlite3.Connection, dimensions: int
    ) -> tuple[list[str], Vectors]:
        count, size = connection.execute(
            "SELECT count(*), max(length(vector)) FROM vector"
        ).fetchone()
        if not count or size != 4 * dimensions:
            raise _DamagedError
        texts: list[str] = []
        vectors: Vectors = np.zeros((2 * count, dimensions), dtype=np.float32)
        rows = connection.execute("SELECT row, text, vector, checksum FROM vector ORDER BY row")
        while block := rows.fetchmany(_BLOCK):
            start = len(texts)
            for number, (row, text, raw, checksum) in enumerate(block, start):
                if row != number or len(raw) != size or _checksum(text, raw) != checksum:
                    raise _DamagedError
                texts.append(_decoded(text))
            blob = b"".join(row[2] for row in block)
            vectors[start : len(texts)] = np.frombuffer(blob, dtype=np.float32).reshape(
                -1, dimensions
            )
        if len(set(texts)) != count:
            raise _DamagedError
        return texts, vectors

    def _failure(self, error: sqlite3.Error) -> RunError:
        reason = str(error)
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = "it is already open"
        return RunError(f"cannot read or write the vectors in {self.path}: {reason}")


class _Transaction:
    """BEGIN, then COMMIT, or ROLLBACK after an error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def set_aside(path: Path) -> Path:
    """Rename a file of vectors and its log to `NAME.set-aside-N`; the new path."""
    target = free_name(path, ("", *_COMPANIONS))
    try:
        for suffix in _COMPANIONS:
            companion = path.with_name(path.name + suffix)
            if companion.exists():
                companion.rename(target.with_name(target.name + suffix))
        return path.rename(target)
    except OSError as error:
        raise RunError(f"{path} is damaged and cannot be set aside: {error.strerror}") from error


def _nothing() -> Vectors:
    return np.empty((0, 0), dtype=np.float32)


def _environmental(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in _NOT_DAMAGE


def _checksum(text: bytes, raw: bytes) -> int:
    return zlib.crc32(raw, zlib.crc32(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
