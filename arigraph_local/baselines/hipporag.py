"""HippoRAG: Personalised PageRank over the triplets, seeded by the entities of the situation.

Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language
Models", section 2.3: entities are nodes, triplets edges, and so are pairs of names whose
embeddings are alike; seeds weigh the less the more passages name them; a passage scores the sum
of its entities' probabilities. Nothing is retired: the method knows no outdated facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from arigraph_local.agent.arigraph_memory import EPISODES, FACTS, AriGraphMemory
from arigraph_local.agent.long_term_memory import Cue, Emit, Recollection, Section
from arigraph_local.agent.working_memory import one_line
from arigraph_local.events import Recalled
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.learning.mentioning import mentioned_names
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.text_vectors import TextVectors

DAMPING = 0.5
"""The share of the walk that follows an edge; the paper's figure."""
SYNONYM = 0.8
"""The least cosine of two names that are linked; the paper's figure."""


class HippoRag(AriGraphMemory):
    """The same extraction as AriGraph's, another search. `facts` and `passages` bound what is
    recalled."""

    def __init__(self, graph: AriGraph, embedder: Embedder, *, facts: int, passages: int) -> None:
        super().__init__(graph)
        self._vectors = TextVectors(embedder)
        self._facts = facts
        self._passages = passages

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """Facts and passages by the PageRank of their entities."""
        weight = self._pagerank(self._seeds(cue))
        known = self.graph.facts()
        facts = sorted(known, key=lambda fact: (-_sum(fact.triplet.entities, weight), fact.id))
        chosen = [fact for fact in facts if _sum(fact.triplet.entities, weight) > 0]
        passages = [
            (-_sum(self._named(episode.fact_ids), weight), -episode.step, episode.text)
            for episode in self.graph.episodes()
            if episode.step not in cue.shown_steps
        ]
        found = Recollection(
            (
                Section(FACTS, tuple(str(fact.triplet) for fact in chosen[: self._facts])),
                Section(
                    EPISODES,
                    tuple(
                        f"(step {-step}) {one_line(text)}"
                        for score, step, text in sorted(passages)[: self._passages]
                        if score < 0
                    ),
                ),
            )
        )
        sections = tuple((part.heading, part.items) for part in found.sections)
        emit(Recalled(step=cue.step, sections=sections, turns=0))
        return found

    def _seeds(self, cue: Cue) -> dict[str, float]:
        """Entities that the texts of the cue name, or else the most similar one to each."""
        names = self.graph.entities()
        texts = [look.text for look in cue.looks if look.text.strip()]
        if not names or not texts:
            return {}
        known = self.graph.store.knows
        seeds = [name for text in texts for name in mentioned_names(text, known, len(names))]
        if not seeds:
            similar = self._vectors.of(texts) @ self._vectors.of(names).T
            seeds = [names[int(row.argmax())] for row in similar]
        passages = Counter(
            name for episode in self.graph.episodes() for name in self._named(episode.fact_ids)
        )
        return {name: 1 / max(1, passages[name]) for name in dict.fromkeys(seeds)}

    def _pagerank(self, seeds: Mapping[str, float]) -> dict[str, float]:
        import networkx  # type: ignore[import-untyped, unused-ignore]

        if not seeds:
            return {}
        network = networkx.Graph()
        names = self.graph.entities()
        network.add_nodes_from(names)
        for fact in self.graph.facts():
            network.add_edge(*fact.triplet.entities)
        network.add_edges_from(self._synonyms(names))
        ranks: dict[str, float] = networkx.pagerank(network, DAMPING, personalization=dict(seeds))
        # The last digits depend on the order of sums; what is equal must stay so.
        return {name: round(rank, 12) for name, rank in ranks.items()}

    def _synonyms(self, names: list[str]) -> Iterable[tuple[str, str]]:
        vectors = self._vectors.of(names)
        similar = vectors @ vectors.T
        return [
            (name, other)
            for row, name in enumerate(names)
            for column, other in enumerate(names[:row])
            if similar[row, column] >= SYNONYM
        ]

    def _named(self, fact_ids: Iterable[int]) -> set[str]:
        facts: list[Fact] = [self.graph.store.fact(fact_id) for fact_id in sorted(fact_ids)]
        return {name for fact in facts for name in fact.triplet.entities}


def _sum(names: Iterable[str], weight: Mapping[str, float]) -> float:
    return round(sum(weight.get(name, 0.0) for name in sorted(set(names))), 12)
