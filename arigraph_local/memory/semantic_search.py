"""Semantic search: breadth-first over the graph, seeded by similarity (paper, Algorithms 1, 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arigraph_local.memory.embedder import Embedder, Vectors
from arigraph_local.memory.store import Fact
from arigraph_local.memory.vector_index import Mask, VectorIndex


@dataclass(frozen=True)
class Query:
    """A text to search for and d, the depth to which its search expands (0: nothing is found)."""

    text: str
    depth: int


@dataclass(frozen=True)
class FoundFact:
    """A retrieved fact with its best score, and the search step that gave this score.

    `query` is the text compared with the fact: the query itself at `depth` 0, deeper the name of
    a vertex that is incident to a fact found at the depth before.
    """

    fact: Fact
    score: float
    depth: int
    query: str


def semantic_search(
    queries: Sequence[Query],
    index: VectorIndex,
    embedder: Embedder,
    facts: Mapping[int, Fact],
    *,
    width: int,
    threshold: float,
) -> list[FoundFact]:
    """The union over `queries` of Algorithm 2, in order of first discovery, query after query.

    `facts` are the facts that may be found, by id: the semantic layer; `index` must hold them.
    `width` is w, the facts that each embedding search retrieves, none below `threshold`. A fact
    found more than once keeps its best score, the earliest on a tie.
    """
    layer = _Layer(index, index.mask(facts), facts, width, threshold)
    searches = [_Search(query, layer) for query in queries]
    # The searches advance level by level side by side so that each level is embedded in one call.
    while waiting := list(dict.fromkeys(text for search in searches for text in search.level())):
        vectors = dict(zip(waiting, embedder.embed(waiting), strict=True))
        for search in searches:
            search.expand(vectors)
    found: dict[int, FoundFact] = {}
    for search in searches:
        for hit in search.found.values():
            _keep_best(found, hit)
    return list(found.values())


@dataclass(frozen=True)
class _Layer:
    """The facts to search in, and how: EmbedAndRetrieve of Algorithm 2."""

    index: VectorIndex
    mask: Mask
    facts: Mapping[int, Fact]
    width: int
    threshold: float

    def retrieve(self, vector: Vectors) -> list[tuple[Fact, float]]:
        top = self.index.top(vector, self.width, self.threshold, self.mask)
        return [(self.facts[fact_id], score) for fact_id, score in top]


class _Search:
    """Algorithm 2 for one query: the queue L, the depths D and the facts found so far."""

    def __init__(self, query: Query, layer: _Layer) -> None:
        self.query = query
        self.layer = layer
        self.queue = deque([query.text])
        self.depths = {query.text: 0}
        self.found: dict[int, FoundFact] = {}

    def level(self) -> list[str]:
        """The queued texts to search for: all have the same depth, as the queue is FIFO."""
        return [text for text in self.queue if self.depths[text] < self.query.depth]

    def expand(self, vectors: dict[str, Vectors]) -> None:
        """Dequeue the texts of this level and enqueue the vertices of what they find."""
        for text in self.level():
            self.queue.popleft()
            depth = self.depths[text]
            for fact, score in self.layer.retrieve(vectors[text]):
                _keep_best(self.found, FoundFact(fact, score, depth, text))
                for vertex in fact.triplet.entities:
                    if vertex not in self.depths:
                        self.depths[vertex] = depth + 1
                        self.queue.append(vertex)


def _keep_best(found: dict[int, FoundFact], hit: FoundFact) -> None:
    known = found.get(hit.fact.id)
    if known is None or hit.score > known.score:
        found[hit.fact.id] = hit
