"""Semantic search: breadth-first over the graph, seeded by similarity (paper, Algorithms 1, 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.search.ranking import Hits, Ranking


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
    ranking: Ranking,
    fact: Callable[[int], Fact],
    *,
    width: int,
    threshold: float,
) -> list[FoundFact]:
    """The union over `queries` of Algorithm 2, in order of first discovery, query after query.

    `ranking` holds the facts that may be found, the semantic layer; `fact` gives a fact by its
    id. `width` is w, the facts that each retrieval gives, `threshold` the least similarity. A
    fact found more than once keeps its best score, the earliest on a tie.
    """
    searches = [_Search(query, fact) for query in queries]
    # The searches advance level by level side by side so that each level is embedded in one call.
    while waiting := list(dict.fromkeys(text for search in searches for text in search.level())):
        retrieved = ranking.retrieve(waiting, width, threshold)
        hits = dict(zip(waiting, retrieved, strict=True))
        for search in searches:
            search.expand(hits)
    found: dict[int, FoundFact] = {}
    for search in searches:
        for hit in search.found.values():
            _keep_best(found, hit)
    return list(found.values())


class _Search:
    """Algorithm 2 for one query: the queue L, the depths D and the facts found so far."""

    def __init__(self, query: Query, fact: Callable[[int], Fact]) -> None:
        self.query = query
        self.fact = fact
        self.queue = deque([query.text])
        self.depths = {query.text: 0}
        self.found: dict[int, FoundFact] = {}

    def level(self) -> list[str]:
        """The queued texts to search for: all have the same depth, as the queue is FIFO."""
        return [text for text in self.queue if self.depths[text] < self.query.depth]

    def expand(self, hits: Mapping[str, Hits]) -> None:
        """Dequeue the texts of this level and enqueue the vertices of what they find."""
        for text in self.level():
            self.queue.popleft()
            depth = self.depths[text]
            for fact_id, score in hits[text]:
                hit = FoundFact(self.fact(fact_id), score, depth, text)
                _keep_best(self.found, hit)
                for vertex in hit.fact.triplet.entities:
                    if vertex not in self.depths:
                        self.depths[vertex] = depth + 1
                        self.queue.append(vertex)


def _keep_best(found: dict[int, FoundFact], hit: FoundFact) -> None:
    known = found.get(hit.fact.id)
    if known is None or hit.score > known.score:
        found[hit.fact.id] = hit
