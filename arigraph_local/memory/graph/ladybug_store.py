"""The graph store on ladybug, the continuation of Kùzu: same Cypher, another file format."""

from __future__ import annotations

from arigraph_local.memory.graph.database_store import DatabaseStore
from arigraph_local.memory.graph.graph_database import LADYBUG


class LadybugStore(DatabaseStore):
    """A `Store` on ladybug, in a file or in memory; see `DatabaseStore`.

    Raises `UsageError` if the package is not installed.
    """

    kind = LADYBUG
