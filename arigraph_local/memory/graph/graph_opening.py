"""Opening a graph: its database, its schema, and its contents as a `GraphMirror`."""

from __future__ import annotations

from pathlib import Path

from arigraph_local.errors import RunError
from arigraph_local.memory.graph.graph_database import (
    LARGEST_POOL_BYTES,
    SMALLEST_POOL_BYTES,
    DatabaseKind,
    GraphDatabase,
    one_line,
    out_of_pool,
    pool_bytes,
)
from arigraph_local.memory.graph.graph_schema import ensure_schema, load_mirror
from arigraph_local.memory.graph.mirror import GraphMirror

_GROWTH = 4


def open_graph(
    kind: DatabaseKind, path: Path | None, where: str, pool: int = SMALLEST_POOL_BYTES
) -> tuple[GraphDatabase, GraphMirror]:
    """The graph in the file `path`, made if there is none, or a new one in memory.

    `pool` is the least memory to allow, in bytes; more is allowed if the graph needs it. Raises
    `RunError` naming `where` if it cannot be opened or read, `DamageError` or `FormatError` if it
    is no graph.
    """
    pool = max(pool, pool_bytes(path))
    while True:
        try:
            return _open(kind, path, where, pool)
        except (RuntimeError, MemoryError, UnicodeDecodeError) as error:
            if not out_of_pool(error) or pool >= LARGEST_POOL_BYTES:
                raise RunError(f"cannot read {where}: {one_line(error)}") from error
        pool = larger_pool(pool)


def larger_pool(pool: int) -> int:
    """What to allow a database that ran out of `pool` bytes."""
    return min(pool * _GROWTH, LARGEST_POOL_BYTES)


def _open(
    kind: DatabaseKind, path: Path | None, where: str, pool: int
) -> tuple[GraphDatabase, GraphMirror]:
    database = GraphDatabase(kind, path, where, pool)
    try:
        ensure_schema(database, kind, where)
        return database, load_mirror(database)
    except BaseException as error:
        database.abandon() if "IO exception" in str(error) else database.close()
        raise
