"""One open graph database, Kùzu or ladybug: opening it, statements, queries, letting it go."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arigraph_local.errors import RunError
from arigraph_local.memory.graph.database_modules import load_database_module

SMALLEST_POOL_BYTES = 512 << 20
LARGEST_POOL_BYTES = 64 << 30
_POOL_BYTES_PER_FILE_BYTE = 32
_MAX_DATABASE_BYTES = 1 << 30

# What may lie beside a database file under its name.
DATABASE_SUFFIXES = ("", ".wal", ".shadow", ".tmp", ".wal.checkpoint", ".checkpoint")


@dataclass(frozen=True)
class DatabaseKind:
    """A graph database: the name of its package, its title in messages, its usual file name.

    `facts_per_statement` new facts are written fastest in one; `options` are settings that only
    it has.
    """

    name: str
    title: str
    file: str
    facts_per_statement: int
    options: Mapping[str, bool]


KUZU = DatabaseKind("kuzu", "Kùzu", "graph.kuzu", 2, {})
# As Kùzu does, it is to drop the torn end of a log that a kill or a full disk has left.
LADYBUG = DatabaseKind(
    "ladybug", "ladybug", "graph.lbug", 1, {"throw_on_wal_replay_failure": False}
)
KINDS = {kind.name: kind for kind in (KUZU, LADYBUG)}

Value = int | str | bool | None


class GraphDatabase:
    """A database in the file `path`, or in memory when it is None, with one connection.

    `pool_bytes` bounds the memory that it may use: whatever is written since it was opened stays
    there, because the file is never checkpointed. A kill during a checkpoint can leave a file
    unreadable, and replaying the write-ahead log is fast. Raises `RunError` naming `where` if the
    file cannot be opened.
    """

    def __init__(self, kind: DatabaseKind, path: Path | None, where: str, pool_bytes: int) -> None:
        self.pool_bytes = pool_bytes
        module = load_database_module(kind.name)
        try:
            # The default size maps 8 TB of address space and fails at the 16th open database.
            self._database = module.Database(
                ":memory:" if path is None else str(path),
                buffer_pool_size=pool_bytes,
                max_db_size=_MAX_DATABASE_BYTES,
                max_num_threads=1,
                auto_checkpoint=False,
                **kind.options,
            )
            self._connection = module.Connection(self._database)
            self._connection.execute("CALL force_checkpoint_on_close=false").close()
        except (RuntimeError, MemoryError, UnicodeDecodeError) as error:
            if out_of_pool(error):
                raise
            if "lock" in str(error):
                raise RunError(f"{where} is open in another process") from error
            raise RunError(f"cannot open the graph {where}: {one_line(error)}") from error
        self._prepared: dict[str, Any] = {}

    def run(self, statement: str, parameters: Mapping[str, Value] | None = None) -> None:
        """Execute a statement whose rows are not wanted; its first use prepares it."""
        prepared = self._prepared.get(statement)
        if prepared is None:
            with warnings.catch_warnings():
                # Preparing once and executing often is deprecated but about twice as fast.
                warnings.simplefilter("ignore", DeprecationWarning)
                prepared = self._connection.prepare(statement)
            self._prepared[statement] = prepared
        self._connection.execute(prepared, dict(parameters or {})).close()

    def execute(self, statement: str) -> None:
        """Execute a statement once, unprepared, as the definition of a table must be."""
        self._connection.execute(statement).close()

    def rows(self, query: str) -> Iterator[list[Any]]:
        """The rows of a query."""
        result = self._connection.execute(query)
        try:
            while result.has_next():
                yield result.get_next()
        finally:
            result.close()

    def close(self) -> None:
        """Let the files go."""
        self._prepared.clear()
        self._connection.close()
        self._database.close()

    def abandon(self) -> None:
        """Keep the database for ever, unused: the way out when its disk refuses writes.

        A database writes out its log when it is destroyed, and if that fails, as on a full disk,
        the whole process is aborted.
        """
        for kept in (self._connection, self._database, self._prepared):
            # One reference more than there are owners.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def database_files(path: Path) -> list[Path]:
    """The files of a database that exist, its write-ahead log among them."""
    named = (path.with_name(path.name + suffix) for suffix in DATABASE_SUFFIXES)
    return [file for file in named if file.is_file()]


def pool_bytes(path: Path | None) -> int:
    """How much memory to allow a database of these files, and some steps more."""
    size = 0 if path is None else sum(file.stat().st_size for file in database_files(path))
    pool = SMALLEST_POOL_BYTES
    while pool < min(size * _POOL_BYTES_PER_FILE_BYTE, LARGEST_POOL_BYTES):
        pool *= 2
    return pool


def out_of_pool(error: BaseException) -> bool:
    """Whether a database failed only because `pool_bytes` was too small."""
    return "buffer pool is full" in str(error)


def one_line(error: BaseException) -> str:
    """The message of a database's error, on one line and without its prefix."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.removeprefix("Runtime exception: ").removeprefix("IO exception: ")
