"""The files of a graph on disk: holding them, and setting them aside."""

from __future__ import annotations

import os
from pathlib import Path

from arigraph_local.aside import free_name
from arigraph_local.errors import RunError
from arigraph_local.lock import Lock, acquire
from arigraph_local.memory.graph.graph_database import DATABASE_SUFFIXES, database_files
from arigraph_local.memory.graph.seal import SEAL_SUFFIX, seal_file
from arigraph_local.memory.graph.snapshot import SNAPSHOT_SUFFIX, snapshot_file


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
        files = [*database_files(path)[::-1], *filter(Path.is_file, _companions(path))]
        if not files:
            raise RunError(f"{path}: there is no graph to set aside")
        target = free_name(path, (*DATABASE_SUFFIXES, SEAL_SUFFIX, SNAPSHOT_SUFFIX))
        for file in files:
            try:
                file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
            except OSError as error:
                raise RunError(f"{file}: cannot be set aside: {error.strerror}") from error
    return target


def remove_graph(path: Path) -> None:
    """Delete a graph that can be made again. Raises `RunError` if it is open or cannot be."""
    with lock_graph(path):
        # The seal goes first: without it whatever is left is examined.
        for file in (*_companions(path), *database_files(path)):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise RunError(f"{file}: cannot be removed: {error.strerror}") from error


def _companions(path: Path) -> tuple[Path, Path]:
    return (seal_file(path), snapshot_file(path))
