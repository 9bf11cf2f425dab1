"""EmbedAndRetrieve of Algorithm 2: which facts are closest to a text.

`EmbeddingRanking` is the paper's: similarity of embeddings. `HybridRanking` adds the words
themselves: the embedding's list and BM25's list (Robertson & Zaragoza 2009, "The Probabilistic
Relevance Framework") are fused by reciprocal rank (Cormack, Clarke & Büttcher 2009, "Reciprocal
Rank Fusion outperforms Condorcet"): a fact scores the sum over the lists of 1 / (60 + its rank),
ranks from 1. Each list has max(w, 50) facts at most. The threshold holds for the embedding's
list; BM25's has every fact that shares a word with the text. Equal sums go by fact id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.search.bm25 import BM25
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.search.vector_index import VectorIndex

Hits = list[tuple[int, float]]
RankingKind = Literal["embedding", "hybrid"]

_FUSION_RANK = 60
_FUSION_DEPTH = 50


class Ranking(Protocol):
    """Searchable facts, ranked by their closeness to a text."""

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable, or searchable again."""
        ...

    def retire(self, facts: Iterable[Fact]) -> None:
        """Make facts unsearchable."""
        ...

    def retrieve(self, texts: Sequence[str], width: int, threshold: float) -> list[Hits]:
        """For each text the `width` closest facts, (fact id, score), best first."""
        ...


class EmbeddingRanking:
    """The paper's ranking: the score is the similarity of the embeddings, at least `threshold`.

    `index` is over the same `vectors`; by default a new one.
    """

    def __init__(self, vectors: TextVectors, index: VectorIndex | None = None) -> None:
        self._vectors = vectors
        self._index = VectorIndex(vectors) if index is None else index

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable, or searchable again; new ones are embedded in one call."""
        self._index.add(facts)

    def retire(self, facts: Iterable[Fact]) -> None:
        """Make facts unsearchable."""
        self._index.retire(facts)

    def retrieve(self, texts: Sequence[str], width: int, threshold: float) -> list[Hits]:
        """For each text the `width` most similar facts, (fact id, similarity), best first."""
        return self._index.top(self._vectors.of(texts), width, threshold)


class HybridRanking:
    """Embedding and BM25 fused by reciprocal rank; the score is the fused one."""

    def __init__(self, vectors: TextVectors) -> None:
        self._embedding = EmbeddingRanking(vectors)
        self._words = BM25()

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable, or searchable again; new ones are embedded in one call."""
        facts = list(facts)
        self._embedding.add(facts)
        self._words.add(facts)

    def retire(self, facts: Iterable[Fact]) -> None:
        """Make facts unsearchable."""
        facts = list(facts)
        self._embedding.retire(facts)
        self._words.retire(facts)

    def retrieve(self, texts: Sequence[str], width: int, threshold: float) -> list[Hits]:
        """For each text the `width` best facts, (fact id, fused score), best first."""
        if width <= 0:
            return [[] for _ in texts]
        depth = max(width, _FUSION_DEPTH)
        similar = self._embedding.retrieve(texts, depth, threshold)
        return [
            fuse(hits, self._words.top(text, depth))[:width]
            for text, hits in zip(texts, similar, strict=True)
        ]


def make_ranking(kind: RankingKind, vectors: TextVectors) -> Ranking:
    """The ranking of this kind, without facts yet."""
    return HybridRanking(vectors) if kind == "hybrid" else EmbeddingRanking(vectors)


def fuse(*lists: Hits) -> Hits:
    """Lists, each best first, fused by reciprocal rank; what is in none of them is left out."""
    fused: dict[int, float] = {}
    for hits in lists:
        for rank, (fact_id, _) in enumerate(hits, start=1):
            fused[fact_id] = fused.get(fact_id, 0.0) + 1 / (_FUSION_RANK + rank)
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))
