"""The append-only event log of a run: the truth from which everything else is rebuilt."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from arigraph_local.errors import RunError
from arigraph_local.events import Acted, Event, EventTime, Finished, parse_event

FILE = "events.jsonl"
PARTIAL = "events.partial.jsonl"


class EventLog:
    """Appends events to `events.jsonl`, one JSON object a line, flushed before it returns.

    A finished step (`action`, `run_finished`) is also forced to the disk. A context manager.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Raises `RunError` if the file cannot be opened for appending."""
        self._path = folder / FILE
        self._clock = clock
        try:
            self._file = self._path.open("ab")
        except OSError as error:
            raise RunError(f"{self._path}: cannot be written: {error.strerror}") from error

    def write(self, event: Event) -> Event:
        """Append one event and return it stamped with the time.

        Raises `RunError` if it cannot be written.
        """
        seconds = event.time.seconds if event.time else None
        stamped = event.model_copy(
            update={"time": EventTime(at=round(self._clock(), 3), seconds=seconds)}
        )
        line = stamped.model_dump_json().encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            if isinstance(event, Acted | Finished):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(
                f"{self._path}: cannot be written: {error.strerror}; finished steps are kept "
                f"and 'arigraph play --resume {self._path.parent}' goes on from there"
            ) from error
        return stamped

    def close(self) -> None:
        """Close the file. What could not be written has been reported by `write`."""
        try:
            self._file.close()
        except OSError:
            return

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_events(folder: Path) -> list[Event]:
    """All complete events of a run folder. A last line that was torn off is left out.

    Raises `RunError` naming file and line for anything else that cannot be understood.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    lines = data.split(b"\n")
    events = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            events.append(parse_event(line))
        except ValidationError as error:
            raise RunError(f"{path}:{number}: not an event of this version: {_first(error)}") from (
                error
            )
    return events


def cut_after_last_step(folder: Path) -> None:
    """Move what follows the last finished step, a torn line included, to `events.partial.jsonl`.

    The log then ends where a run can go on: after its header or after an `action`.
    """
    path = folder / FILE
    keep = 1
    for number, event in enumerate(read_events(folder), start=1):
        if isinstance(event, Acted):
            keep = number
    data = path.read_bytes()
    lines = data.split(b"\n")
    tail = b"\n".join(lines[keep:])
    if not tail:
        return
    with (folder / PARTIAL).open("ab") as partial:
        partial.write(tail if tail.endswith(b"\n") else tail + b"\n")
        partial.flush()
        os.fsync(partial.fileno())
    os.truncate(path, len(data) - len(tail))


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
