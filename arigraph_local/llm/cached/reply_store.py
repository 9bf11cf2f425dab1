"""Texts by key in a folder that several processes share, and that may break without harm."""

from __future__ import annotations

import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from arigraph_local.aside import free_name
from arigraph_local.errors import UsageError

Warn = Callable[[str], None]

_DATABASE = "replies.sqlite"
_WAIT_SECONDS = 30.0
_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text BLOB) WITHOUT ROWID"
_GET = "SELECT text FROM replies WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO replies VALUES (?, ?)"


def to_stderr(text: str) -> None:
    """Print a warning as the command line does."""
    print(f"warning: {text}", file=sys.stderr)


class ReplyStore:
    """A key-value store in one SQLite file. Losing it costs time only.

    A damaged store is set aside, with one line to `warn`, and a new one begun. A store that
    cannot be used any more (full disk, read-only, locked for good) is left alone for the rest of
    the process. Nothing is ever thrown out: delete the folder to start afresh.
    """

    def __init__(self, folder: Path, warn: Warn = to_stderr) -> None:
        """Raises `UsageError` if the folder cannot be made or used."""
        self._folder = folder
        self._warn = warn
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = _opened(folder)
        except (OSError, sqlite3.OperationalError) as error:
            raise UsageError(f"the response cache {folder} cannot be used: {error}") from error
        except sqlite3.DatabaseError:
            self._replace()

    def get(self, key: str) -> str | None:
        """The text of a key, None if it has none."""
        rows = self._run(_GET, (key,))
        try:
            return zlib.decompress(rows[0][0]).decode() if rows else None
        except (zlib.error, TypeError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        """Keep a text, in place of an earlier one."""
        self._run(_PUT, (key, zlib.compress(text.encode())))

    def close(self) -> None:
        """Close it. Closing twice is harmless; what comes after finds nothing."""
        with self._turn:
            self._drop()

    def _run(self, statement: str, values: tuple[str | bytes, ...]) -> list[tuple[bytes]]:
        with self._turn:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                self._give_up(error)
            except sqlite3.DatabaseError:
                self._replace()
            return []

    def _replace(self) -> None:
        """Set the damaged folder aside, unless another process has done so already."""
        self._drop()
        try:
            with FileLock(f"{self._folder}.lock", timeout=_WAIT_SECONDS):
                try:
                    self._connection = _opened(self._folder, thorough=True)
                    return
                except sqlite3.DatabaseError:
                    aside = free_name(self._folder)
                self._folder.rename(aside)
                self._folder.mkdir()
                self._connection = _opened(self._folder)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
            return
        self._warn(f"the response cache {self._folder} is damaged: set aside as {aside.name}")

    def _give_up(self, error: Exception) -> None:
        self._drop()
        self._warn(f"the response cache {self._folder} is off for this run: {error}")

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _opened(folder: Path, *, thorough: bool = False) -> sqlite3.Connection:
    """A connection to a database that is sound as far as a look, or a `thorough` one, can tell.

    Raises `sqlite3.DatabaseError` if it is damaged, the narrower `sqlite3.OperationalError` if it
    cannot be used for another reason.
    """
    connection = sqlite3.connect(
        folder / _DATABASE,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # The rollback journal, not WAL: it works on the network file systems that labs share.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
        if thorough:
            [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(str(verdict))
    except sqlite3.Error:
        connection.close()
        raise
    return connection
