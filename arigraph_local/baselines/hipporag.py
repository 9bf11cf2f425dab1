"""HippoRAG: Personalised PageRank over the triplets, seeded by the entities of the situation.

Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language
Models", section 2.3: entities are nodes, triplets edges, and so are pairs of names whose
embeddings are alike; seeds weigh the less the more passages name them; a passage scores the sum
of its entities' probabilities. Nothing is retired: the method knows no outdated facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from arigraph_local.agent.arigraph_memory import EPISODES, FACTS, AriGraphMemory
from arigraph_local.agent.long_term_memory import Cue, Emit, Recollection, Section
from arigraph_local.agent.recording import emit_recalled
from arigraph_local.agent.working_memory import one_line
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import Episode
from arigraph_local.memory.learning.mentioning import mentioned_names

DAMPING = 0.5
"""The share of the walk that follows an edge; the paper's figure."""
SYNONYM = 0.8
"""The least cosine of two names that are linked; the paper's figure."""


class HippoRag(AriGraphMemory):
    """The same extraction as AriGraph's, another search. `facts` and `passages` bound what is
    recalled."""

    def __init__(self, graph: AriGraph, *, facts: int, passages: int) -> None:
        super().__init__(graph)
        self._facts = facts
        self._passages = passages

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """Facts and passages by the PageRank of their entities."""
        named = {episode.step: self._named(episode) for episode in self.graph.episodes()}
        weight = self._pagerank(self._seeds(cue, named))
        facts = [(-_sum(fact.triplet.entities, weight), fact.id) for fact in self.graph.facts()]
        passages = [
            (-_sum(names, weight), -step)
            for step, names in named.items()
            if step not in cue.shown_steps
        ]
        found = Recollection(
            (
                Section(FACTS, tuple(map(self._fact, _best(facts, self._facts)))),
                Section(EPISODES, tuple(map(self._passage, _best(passages, self._passages)))),
            )
        )
        emit_recalled(emit, cue.step, found)
        return found

    def _seeds(self, cue: Cue, named: Mapping[int, Collection[str]]) -> dict[str, float]:
        """Entities that the texts of the cue name, or else the most similar one to each."""
        names = self.graph.entities()
        texts = [look.text for look in cue.looks if look.text.strip()]
        if not names or not texts:
            return {}
        known = self.graph.store.knows
        seeds = [name for text in texts for name in mentioned_names(text, known, len(names))]
        if not seeds:
            similar = self.graph.vectors.of(texts) @ self.graph.vectors.of(names).T
            seeds = [names[int(row.argmax())] for row in similar]
        passages = Counter(name for mentioned in named.values() for name in mentioned)
        return {name: 1 / max(1, passages[name]) for name in dict.fromkeys(seeds)}

    def _pagerank(self, seeds: Mapping[str, float]) -> dict[str, float]:
        import networkx  # type: ignore[import-untyped, unused-ignore]

        if not seeds:
            return {}
        network = networkx.Graph()
        names = self.graph.entities()
        network.add_nodes_from(names)
        network.add_edges_from(fact.triplet.entities for fact in self.graph.facts())
        network.add_edges_from(self._synonyms(names))
        ranks: dict[str, float] = networkx.pagerank(network, DAMPING, personalization=dict(seeds))
        # The last digits depend on the order of sums; what is equal must stay so.
        return {name: round(rank, 12) for name, rank in ranks.items()}

    def _synonyms(self, names: Sequence[str]) -> Iterable[tuple[str, str]]:
        vectors = self.graph.vectors.of(names)
        # Vectors are of unit length only where the memory compares by cosine.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = vectors / np.where(lengths == 0, 1, lengths)
        alike = np.tril(units @ units.T >= SYNONYM, -1)
        return [(names[row], names[column]) for row, column in np.argwhere(alike).tolist()]

    def _named(self, episode: Episode) -> set[str]:
        facts = map(self.graph.store.fact, episode.fact_ids)
        return {name for fact in facts for name in fact.triplet.entities}

    def _fact(self, fact_id: int) -> str:
        return str(self.graph.store.fact(fact_id).triplet)

    def _passage(self, negated_step: int) -> str:
        episode = self.graph.store.episode(-negated_step)
        return f"(step {episode.step}) {one_line(episode.text)}"


def _sum(names: Iterable[str], weight: Mapping[str, float]) -> float:
    return round(sum(weight.get(name, 0.0) for name in sorted(set(names))), 12)


def _best(negated: Iterable[tuple[float, int]], count: int) -> list[int]:
    """The numbers that belong to the `count` highest scores above zero; scores are negated."""
    return [number for score, number in sorted(negated) if score < 0][:count]
