"""AriGraph world-model memory and the Ariadne agent on local models.

The names below are imported when they are first used, so that `import arigraph_local` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arigraph_local.llm.llama.llama_engine import LlamaEngine
    from arigraph_local.llm.loading import load_engine
    from arigraph_local.llm.scripted import ScriptedEngine
    from arigraph_local.memory.arigraph import AriGraph
    from arigraph_local.memory.graph.kuzu_store import KuzuStore
    from arigraph_local.memory.graph.ladybug_store import LadybugStore
    from arigraph_local.memory.graph.rebuilding import rebuild
    from arigraph_local.memory.graph.stores import open_store
    from arigraph_local.memory.reading.graph_view import GraphView
    from arigraph_local.memory.search.embedder_loading import load_embedder
    from arigraph_local.memory.search.semantic_search import Query
    from arigraph_local.memory.settings import MemorySettings
    from arigraph_local.memory.spatial.spatial_map import Passage
    from arigraph_local.memory.triplet import Triplet

_HOMES = {
    "AriGraph": "memory.arigraph",
    "GraphView": "memory.reading.graph_view",
    "KuzuStore": "memory.graph.kuzu_store",
    "LadybugStore": "memory.graph.ladybug_store",
    "LlamaEngine": "llm.llama.llama_engine",
    "MemorySettings": "memory.settings",
    "Passage": "memory.spatial.spatial_map",
    "Query": "memory.search.semantic_search",
    "ScriptedEngine": "llm.scripted",
    "Triplet": "memory.triplet",
    "load_embedder": "memory.search.embedder_loading",
    "load_engine": "llm.loading",
    "open_store": "memory.graph.stores",
    "rebuild": "memory.graph.rebuilding",
}

__all__ = [
    "AriGraph",
    "GraphView",
    "KuzuStore",
    "LadybugStore",
    "LlamaEngine",
    "MemorySettings",
    "Passage",
    "Query",
    "ScriptedEngine",
    "Triplet",
    "load_embedder",
    "load_engine",
    "open_store",
    "rebuild",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'arigraph_local' has no attribute '{name}'")
    return getattr(importlib.import_module(f"arigraph_local.{_HOMES[name]}"), name)
