"""Algorithms 1 and 2 and Eq. 1 as the paper writes them, in the plainest Python.

The search is compared with them over random graphs: the same facts, scores, order and episodes,
to the bit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hashed_embedder import HashedEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.memory.graph.store import Fact, Retirement, StepChange
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.episodic_search import episodic_search
from arigraph_local.memory.search.ranking import EmbeddingRanking
from arigraph_local.memory.search.semantic_search import Query, semantic_search
from arigraph_local.memory.search.text_vectors import Similarity, TextVectors
from arigraph_local.memory.search.vector_index import VectorIndex
from arigraph_local.memory.triplet import Triplet

Hit = tuple[Fact, float, int, str]  # the fact, its score, the depth and text that found it


@dataclass
class PaperSearch:
    """The graph G = (Vs, Es, Ve, Ee) of `store`, searched as in the paper's section 2."""

    store: ReferenceStore
    similarity: Similarity
    width: int
    threshold: float

    def memory_search(
        self, queries: Sequence[tuple[str, int]], k: int
    ) -> tuple[list[Hit], list[tuple[int, float]]]:
        """Algorithm 1: E_out is the union over the queries, V_out the k best episodes."""
        out: dict[int, Hit] = {}
        for query, depth in queries:
            for hit in self.semantic_search(query, depth):
                known = out.get(hit[0].id)
                if known is None or hit[1] > known[1]:
                    out[hit[0].id] = hit
        return list(out.values()), self.episodic_search(set(out), k)

    def semantic_search(self, query: str, d: int) -> list[Hit]:
        """Algorithm 2: a queue L, depths D, w edges retrieved for each text dequeued."""
        waiting, depths, found = deque([query]), {query: 0}, []
        while waiting:
            text = waiting.popleft()
            if depths[text] >= d:
                continue
            for fact, score in self.embed_and_retrieve(text):
                found.append((fact, score, depths[text], text))
                for vertex in (fact.triplet.subject, fact.triplet.object):
                    if vertex not in depths:
                        depths[vertex] = depths[text] + 1
                        waiting.append(vertex)
        return found

    def embed_and_retrieve(self, text: str) -> list[tuple[Fact, float]]:
        """The w current edges most similar to `text`, of equal ones the oldest first."""
        scored = []
        for fact in self.store.current():
            score = self.score(text, str(fact.triplet))
            if score >= self.threshold:
                scored.append((fact, score))
        scored.sort(key=lambda pair: (-pair[1], pair[0].id))
        return scored[: self.width]

    def episodic_search(self, found: set[int], k: int) -> list[tuple[int, float]]:
        """Eq. 1 for every episode: rel = n / max(N, 1) · log2(max(N, 1))."""
        scored = []
        for episode in self.store.episodes():
            n, size = len(found & episode.fact_ids), max(len(episode.fact_ids), 1)
            relevance = n / size * math.log2(size)
            if relevance > 0:
                scored.append((episode.step, relevance))
        scored.sort(key=lambda pair: (-pair[1], -pair[0]))
        return scored[:k]

    def score(self, one: str, other: str) -> float:
        left, right = self.vector(one), self.vector(other)
        return float(np.sum(left.astype(np.float64) * right.astype(np.float64)))

    def vector(self, text: str) -> Vectors:
        raw = HashedEmbedder().vector(text)
        if self.similarity == "dot":
            return raw
        wide = raw.astype(np.float64)
        unit: Vectors = (wide / np.sqrt(np.sum(wide * wide))).astype(np.float32)
        return unit


NAMES = st.sampled_from(["key", "red key", "locker", "room", "hall", "soup", "lamp", "note"])
TRIPLETS = st.builds(
    Triplet, NAMES, st.sampled_from(["is in", "opens"]), NAMES
)  # a loop is one vertex twice
STEPS = st.lists(
    st.tuples(
        st.lists(TRIPLETS, max_size=12), st.lists(st.integers(0, 40), max_size=3, unique=True)
    ),
    max_size=8,
)
QUERIES = st.lists(
    st.tuples(st.one_of(NAMES, st.sampled_from(["how to leave?", ""])), st.integers(0, 3)),
    max_size=4,
)


@settings(deadline=None, max_examples=120)
@given(
    steps=STEPS,
    queries=QUERIES,
    similarity=st.sampled_from(["cosine", "dot"]),
    width=st.integers(1, 7),
    threshold=st.sampled_from([-100.0, 0.0, 0.5, 0.9, 1.0, 3.0]),
    k=st.integers(0, 4),
)
def test_the_search_is_the_papers_to_the_bit(
    steps: list[tuple[list[Triplet], list[int]]],
    queries: list[tuple[str, int]],
    similarity: Similarity,
    width: int,
    threshold: float,
    k: int,
) -> None:
    store, embedder = ReferenceStore(), HashedEmbedder()
    vectors = TextVectors(embedder, similarity=similarity)
    ranking = EmbeddingRanking(vectors, VectorIndex(vectors, sketch_from=8, axes=2))
    paper = PaperSearch(store, similarity, width, threshold)
    asked = [Query(*query) for query in queries]
    for step, (learned, places) in enumerate(steps, start=1):
        outcome = store.apply(StepChange(step, "", learned, retirements(store, learned, places)))
        ranking.retire(fact for fact in outcome.retired if not store.is_current(fact.id))
        ranking.add(outcome.added)
        found = semantic_search(asked, ranking, store.fact, width=width, threshold=threshold)
        episodes = episodic_search([item.fact.id for item in found], store, k=k)
        facts, ranked = paper.memory_search(queries, k)
        assert [(item.fact, item.score, item.depth, item.query) for item in found] == facts
        assert [(item.episode.step, item.score) for item in episodes] == ranked
    assert len(embedder.embedded) == len(set(embedder.embedded))


def retirements(
    store: ReferenceStore, learned: Sequence[Triplet], places: Sequence[int]
) -> list[Retirement]:
    current = store.current()
    chosen = [current[place] for place in places if place < len(current)]
    return [
        Retirement(fact.id, by, "")
        for fact in chosen
        for by in [next((other for other in learned if other != fact.triplet), None)]
        if by is not None
    ]
