"""The graph stores by name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from arigraph_local.errors import unknown_name
from arigraph_local.memory.graph.database_store import DatabaseStore
from arigraph_local.memory.graph.graph_database import KINDS
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.ladybug_store import LadybugStore

StoreKind = Literal["kuzu", "ladybug"]

STORES: dict[StoreKind, type[DatabaseStore]] = {"kuzu": KuzuStore, "ladybug": LadybugStore}


def open_store(kind: StoreKind, path: Path | None = None) -> DatabaseStore:
    """The graph in the file `path`, made if there is none, or in memory when it is None.

    Raises `UsageError` for an unknown kind or one that is not installed, `RunError` as the stores
    do.
    """
    if kind not in STORES:
        raise unknown_name("graph store", kind, STORES)
    return STORES[kind](path)


def graph_file(kind: StoreKind) -> str:
    """The usual name of a graph's file in a run folder."""
    if kind not in STORES:
        raise unknown_name("graph store", kind, STORES)
    return KINDS[kind].file
