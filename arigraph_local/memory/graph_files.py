"""The files of a graph on disk: holding them, and setting them aside."""

from __future__ import annotations

import os
from pathlib import Path

from arigraph_local.errors import RunError
from arigraph_local.lock import Lock, acquire
from arigraph_local.memory.graph_database import DATABASE_SUFFIXES, database_files
from arigraph_local.memory.seal import seal_file

_ASIDE = "set-aside"


def lock_graph(path: Path) -> Lock:
    """The lock that whoever opens a graph holds. Raises `RunError` naming who has it."""
    file = path.resolve()
    if file.is_dir():
        raise RunError(f"cannot open the graph {path}: it is a folder")
    if not file.parent.is_dir():
        raise RunError(f"cannot open the graph {path}: no folder {file.parent}")
    return acquire(
        file.with_name(f"{file.name}.lock"), lambda holder: f"{path} is already open in {holder}"
    )


def require_writable(path: Path) -> None:
    """Raises `RunError` naming the file of a graph that cannot be written."""
    for file in database_files(path):
        if not os.access(file, os.R_OK | os.W_OK):
            raise RunError(f"{file}: cannot be written: the database opens for writing only")


def set_aside(path: Path) -> Path:
    """Move a graph's files out of the way, beside it; nothing is deleted or overwritten.

    Returns the new path, `NAME.set-aside-N`, at which the graph can be opened. Raises `RunError`
    if there is none, it is open, or its files cannot be moved.
    """
    with lock_graph(path):
        # The database file goes last: its log is worth nothing without it, nor it without its log.
        files = [*database_files(path)[::-1], *([seal_file(path)] * seal_file(path).is_file())]
        if not files:
            raise RunError(f"{path}: there is no graph to set aside")
        target = _free_name(path)
        for file in files:
            try:
                file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
            except OSError as error:
                raise RunError(f"{file}: cannot be set aside: {error.strerror}") from error
    return target


def _free_name(path: Path) -> Path:
    number = 1
    while True:
        target = path.with_name(f"{path.name}.{_ASIDE}-{number}")
        suffixes = (*DATABASE_SUFFIXES, ".seal")
        if not any(os.path.lexists(target.with_name(target.name + s)) for s in suffixes):
            return target
        number += 1
