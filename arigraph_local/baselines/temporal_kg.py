"""A temporal knowledge graph, as Zep and Graphiti keep one (Rasmussen et al. 2025, "Zep: A
Temporal Knowledge Graph Architecture for Agent Memory").

Facts have the steps from and to which they held. One that is outdated is invalidated, not
replaced: it is still found, with its interval. Rankings by embedding and by words (BM25), one of
each for every text searched for, and one by distance in the graph from the entities that the
texts name are fused by reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arigraph_local.agent.arigraph_memory import AriGraphMemory
from arigraph_local.agent.long_term_memory import Cue, Emit, Recollection, Section
from arigraph_local.agent.recording import emit_recalled
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.learning.mentioning import mentioned_names
from arigraph_local.memory.search.bm25 import BM25
from arigraph_local.memory.search.ranking import EmbeddingRanking, Hits, fuse

HEADING = "Facts in memory, with the steps at which they held"
_DEPTH = 50
_NO_THRESHOLD = float("-inf")  # fusion looks at ranks alone


class TemporalKG(AriGraphMemory):
    """The same extraction and invalidation as AriGraph's, another search. At most `facts` facts
    are recalled."""

    def __init__(self, graph: AriGraph, *, facts: int) -> None:
        super().__init__(graph)
        self._similar = EmbeddingRanking(graph.vectors)
        self._words = BM25()
        self._facts = facts

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """The facts that the fused rankings put first, retired ones with their end."""
        facts = {fact.id: fact for fact in self.graph.facts(current=False)}
        self._similar.add(facts.values())
        self._words.add(facts.values())
        texts = [look.text for look in cue.looks if look.text.strip()]
        fused = fuse(
            *self._similar.retrieve(texts, _DEPTH, _NO_THRESHOLD),
            *(self._words.top(text, _DEPTH) for text in texts),
            self._near(texts, facts),
        )
        told = tuple(self._told(facts[fact_id]) for fact_id, _ in fused[: self._facts])
        found = Recollection((Section(HEADING, told),))
        emit_recalled(emit, cue.step, found)
        return found

    def _near(self, texts: Sequence[str], facts: Mapping[int, Fact]) -> Hits:
        """The facts within reach of the entities that the texts name, by hops, then by id."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        network = networkx.Graph(fact.triplet.entities for fact in facts.values())
        known = self.graph.store.knows
        named = {
            name
            for text in texts
            for name in mentioned_names(text, known, len(network))
            if name in network
        }
        if not named:
            return []
        hops: dict[str, float] = networkx.multi_source_dijkstra_path_length(network, named)
        far = [
            (fact_id, min(hops[name] for name in fact.triplet.entities))
            for fact_id, fact in facts.items()
            if fact.triplet.subject in hops
        ]
        return sorted(far, key=lambda item: (item[1], item[0]))[:_DEPTH]

    def _told(self, fact: Fact) -> str:
        held = self.graph.store.history(fact.id)[-1]
        if held.end is None:
            return f"{fact.triplet} (since step {held.start})"
        return f"{fact.triplet} (from step {held.start} to {held.end}, not any more)"
