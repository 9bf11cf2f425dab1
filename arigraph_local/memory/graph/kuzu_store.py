"""The graph store on Kùzu."""

from __future__ import annotations

from arigraph_local.memory.graph.database_store import DatabaseStore
from arigraph_local.memory.graph.graph_database import KUZU


class KuzuStore(DatabaseStore):
    """A `Store` on Kùzu, in a file or in memory; see `DatabaseStore`."""

    kind = KUZU
