"""A temporal knowledge graph, as Zep and Graphiti keep one (Rasmussen et al. 2025, "Zep: A
Temporal Knowledge Graph Architecture for Agent Memory").

Facts have the steps from and to which they held. One that is outdated is invalidated, not
replaced: it is still found, with its interval. Three rankings, by embedding, by words (BM25) and
by distance in the graph from the entities of the situation, are fused by reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Mapping

from arigraph_local.agent.arigraph_memory import AriGraphMemory
from arigraph_local.agent.long_term_memory import Cue, Emit, Recollection, Section
from arigraph_local.events import Recalled
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.learning.mentioning import mentioned_names
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.ranking import HybridRanking
from arigraph_local.memory.search.text_vectors import TextVectors

HEADING = "Facts in memory, with the steps at which they held"
_FUSION_RANK = 60
_DEPTH = 50


class TemporalKG(AriGraphMemory):
    """The same extraction and invalidation as AriGraph's, another search. At most `facts` facts
    are recalled."""

    def __init__(self, graph: AriGraph, embedder: Embedder, *, facts: int) -> None:
        super().__init__(graph)
        self._ranking = HybridRanking(TextVectors(embedder))
        self._known: set[int] = set()
        self._facts = facts

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """The facts that the fused rankings put first, retired ones with their end."""
        facts = {fact.id: fact for fact in self.graph.facts(current=False)}
        self._ranking.add([fact for fact_id, fact in facts.items() if fact_id not in self._known])
        self._known |= facts.keys()
        texts = [look.text for look in cue.looks if look.text.strip()]
        scores: dict[int, float] = {}
        # Similarity has no threshold here: fusion looks at ranks alone.
        for hits in self._ranking.retrieve(texts, _DEPTH, -1.0) if facts else []:
            _add(scores, {fact_id: -score for fact_id, score in hits})
        _add(scores, self._distances(cue, facts))
        best = sorted(scores, key=lambda fact_id: (-scores[fact_id], fact_id))[: self._facts]
        found = Recollection((Section(HEADING, tuple(self._told(facts[one]) for one in best)),))
        sections = tuple((part.heading, part.items) for part in found.sections)
        emit(Recalled(step=cue.step, sections=sections, turns=0))
        return found

    def _distances(self, cue: Cue, facts: Mapping[int, Fact]) -> dict[int, float]:
        """Hops from the entities that the texts of the cue name to each fact within reach."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        network = networkx.Graph(fact.triplet.entities for fact in facts.values())
        known = self.graph.store.knows
        named = {
            name
            for look in cue.looks
            for name in mentioned_names(look.text, known, len(network))
            if name in network
        }
        if not named:
            return {}
        hops: dict[str, float] = networkx.multi_source_dijkstra_path_length(network, named)
        return {
            fact_id: float(min(hops[name] for name in fact.triplet.entities))
            for fact_id, fact in facts.items()
            if fact.triplet.subject in hops
        }

    def _told(self, fact: Fact) -> str:
        held = self.graph.store.history(fact.id)[-1]
        if held.end is None:
            return f"{fact.triplet} (since step {held.start})"
        return f"{fact.triplet} (from step {held.start} to {held.end}, not any more)"


def _add(scores: dict[int, float], by: Mapping[int, float]) -> None:
    """Reciprocal rank fusion: the lowest values come first, equal ones by fact id."""
    ranked = sorted(by, key=lambda fact_id: (by[fact_id], fact_id))[:_DEPTH]
    for rank, fact_id in enumerate(ranked, start=1):
        scores[fact_id] = scores.get(fact_id, 0.0) + 1 / (_FUSION_RANK + rank)
