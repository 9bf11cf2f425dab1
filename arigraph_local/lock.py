"""An exclusive lock on a file, whose holder can be named to whoever is refused."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import filelock
from pydantic import BaseModel, ValidationError

from arigraph_local.errors import RunError

_LONGEST_COMMAND = 60
_LONGEST_RECORD_BYTES = 4096


class Holder(BaseModel):
    """The process that holds a lock, as it is written in the lock file."""

    pid: int
    host: str
    command: str

    def __str__(self) -> str:
        here = platform.node()
        if self.host != here:
            return f"process {self.pid} on {self.host} ({self.command})"
        return "this process" if self.pid == os.getpid() else f"process {self.pid} ({self.command})"


class Lock:
    """A lock that is held until `release`, or until its process ends in any way."""

    def __init__(self, path: Path, lock: filelock.BaseFileLock) -> None:
        self.path = path
        self._lock = lock
        self._pid = os.getpid()

    def release(self) -> None:
        """Let the lock go. Releasing twice is harmless, as is releasing in a forked child."""
        # A forked child shares the lock itself: unlocking there would take it from the parent.
        if self._pid != os.getpid() or not self._lock.is_locked:
            return
        _write_record(self.path, "")
        self._lock.release()

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def acquire(path: Path, refusal: Callable[[str], str]) -> Lock:
    """Take the lock file `path`, without waiting; the file stays when the lock is released.

    `refusal` makes the error message from a description of the holder, such as
    `process 1234 (arigraph play hunt)`. Raises `RunError` with it if the lock is held, or naming
    the file if it cannot be written.
    """
    if not path.parent.is_dir():
        raise RunError(f"{path}: cannot be written: there is no folder {path.parent}")
    before = _read_record(path)
    lock = filelock.FileLock(path, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        # Some releases of filelock empty the file when they try it.
        holder = _read_record(path) or before
        raise RunError(refusal(_description(holder))) from error
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    except NotImplementedError as error:
        raise RunError(f"{path}: this file system has no locks") from error
    me = Holder(pid=os.getpid(), host=platform.node(), command=_command())
    _write_record(path, me.model_dump_json())
    return Lock(path, lock)


def _description(holder: Holder | None) -> str:
    if holder is None or (holder.host == platform.node() and not _alive(holder.pid)):
        return "another process"
    return str(holder)


def _command() -> str:
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    line = shlex.join([program, *sys.argv[1:]])
    printable = "".join(letter if letter.isprintable() else "?" for letter in line)
    return printable if len(printable) <= _LONGEST_COMMAND else f"{printable[:_LONGEST_COMMAND]}…"


def _read_record(path: Path) -> Holder | None:
    try:
        with path.open("rb") as file:
            return Holder.model_validate_json(file.read(_LONGEST_RECORD_BYTES))
    except (OSError, ValidationError):
        return None


def _write_record(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        # The record is for a message only: a full disk must not refuse the lock.
        return


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
