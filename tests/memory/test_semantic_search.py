"""Algorithms 1 and 2 on graphs small enough to work by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from reference_store import ReferenceStore

from arigraph_local.memory.graph.store import Fact, StepChange
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.episodic_search import episodic_search
from arigraph_local.memory.search.ranking import EmbeddingRanking
from arigraph_local.memory.search.semantic_search import FoundFact, Query, semantic_search
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.triplet import Triplet


class TableEmbedder:
    """Similarities from a table: a query scores what the table says with a fact, else 0.

    Facts are the axes of the space, so that the product of a query's vector with a fact's is
    the number written in the table.
    """

    name = "table"
    threshold = 0.5

    def __init__(self, facts: Sequence[Fact], table: dict[str, dict[int, float]]) -> None:
        self._axes = {str(fact.triplet): number for number, fact in enumerate(facts)}
        self._ids = [fact.id for fact in facts]
        self._table = table
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        vectors = np.zeros((len(texts), len(self._ids)), dtype=np.float32)
        for row, text in enumerate(texts):
            if text in self._axes:
                vectors[row, self._axes[text]] = 1
            for fact_id, score in self._table.get(text, {}).items():
                vectors[row, self._ids.index(fact_id)] = score
        return vectors


def fact(fact_id: int, text: str) -> Fact:
    return Fact(fact_id, Triplet(*text.split(", ")))


GRILL = fact(1, "bbq, used for, grilling")
YARD = fact(2, "bbq, is in, backyard")
SHED = fact(3, "shed, is east of, backyard")
SPADE = fact(4, "spade, is in, shed")
SOUP = fact(5, "soup, needs, carrot")
FACTS = [GRILL, YARD, SHED, SPADE, SOUP]
TABLE = {
    "how to grill?": {1: 0.75, 2: 0.5, 5: 0.25},
    "bbq": {1: 0.75, 2: 0.875},
    "grilling": {1: 1.0},
    "backyard": {2: 0.75, 3: 0.625},
    "shed": {3: 0.75, 4: 0.75},
    "spade": {4: 1.0},
    "what needs a carrot?": {5: 1.0, 3: 0.625},
}


def search(
    *queries: Query,
    width: int = 6,
    threshold: float = 0.5,
    facts: Sequence[Fact] = FACTS,
) -> tuple[list[FoundFact], TableEmbedder]:
    embedder = TableEmbedder(FACTS, TABLE)
    ranking = EmbeddingRanking(TextVectors(embedder, similarity="dot"))
    ranking.add(FACTS)
    ranking.retire([item for item in FACTS if item not in facts])
    embedder.calls.clear()
    layer = {item.id: item for item in facts}
    found = semantic_search(queries, ranking, layer.__getitem__, width=width, threshold=threshold)
    return found, embedder


def summary(found: Sequence[FoundFact]) -> list[tuple[int, float, int, str]]:
    return [(item.fact.id, item.score, item.depth, item.query) for item in found]


def test_depth_one_is_the_embedding_search_alone() -> None:
    found, embedder = search(Query("how to grill?", 1))
    assert summary(found) == [(1, 0.75, 0, "how to grill?"), (2, 0.5, 0, "how to grill?")]
    assert embedder.calls == [["how to grill?"]]


def test_depth_zero_finds_nothing() -> None:
    assert search(Query("how to grill?", 0))[0] == []


def test_each_depth_searches_for_the_incident_vertices_of_the_depth_before() -> None:
    found, embedder = search(Query("how to grill?", 3))
    # Depth 1 asks for bbq, grilling, backyard; only backyard finds something new, the shed.
    # Depth 2 asks for the shed, and the spade's vertices are beyond the depth.
    assert embedder.calls == [["how to grill?"], ["bbq", "grilling", "backyard"], ["shed"]]
    assert summary(found) == [
        (1, 1.0, 1, "grilling"),
        (2, 0.875, 1, "bbq"),
        (3, 0.75, 2, "shed"),
        (4, 0.75, 2, "shed"),
    ]


def test_width_bounds_each_embedding_search() -> None:
    found, embedder = search(Query("how to grill?", 3), width=1)
    # how to grill? -> 1; bbq -> 2, grilling -> 1; backyard -> 2.
    assert [item.fact.id for item in found] == [1, 2]
    assert embedder.calls == [["how to grill?"], ["bbq", "grilling"], ["backyard"]]


def test_the_threshold_stops_the_walk() -> None:
    found, _ = search(Query("how to grill?", 3), threshold=0.7)
    # The shed scores 0.625 from the backyard: neither it nor the spade is reached.
    assert [item.fact.id for item in found] == [1, 2]


def test_facts_outside_the_semantic_layer_are_neither_found_nor_walked_through() -> None:
    found, _ = search(Query("how to grill?", 3), facts=[GRILL, SHED, SPADE, SOUP])
    assert [item.fact.id for item in found] == [1]


def test_a_query_that_is_a_vertex_is_searched_once() -> None:
    found, embedder = search(Query("shed", 2))
    assert embedder.calls == [["shed"], ["backyard", "spade"]]
    assert [item.fact.id for item in found] == [3, 4, 2]


def test_the_union_keeps_first_discovery_and_best_score_and_each_querys_depth() -> None:
    found, embedder = search(Query("what needs a carrot?", 1), Query("how to grill?", 2))
    assert embedder.calls[0] == ["what needs a carrot?", "how to grill?"]
    assert summary(found) == [
        (5, 1.0, 0, "what needs a carrot?"),
        (3, 0.625, 0, "what needs a carrot?"),
        (1, 1.0, 1, "grilling"),
        (2, 0.875, 1, "bbq"),
    ]


def test_searching_together_gives_what_searching_alone_gives() -> None:
    queries = [Query("how to grill?", 3), Query("what needs a carrot?", 2), Query("shed", 1)]
    together, _ = search(*queries)
    apart: dict[int, float] = {}
    for query in queries:
        for item in search(query)[0]:
            apart[item.fact.id] = max(item.score, apart.get(item.fact.id, 0.0))
    assert {item.fact.id: item.score for item in together} == apart
    assert [item.fact.id for item in together] == list(apart)


def test_no_queries_and_no_facts_find_nothing() -> None:
    assert search()[0] == []
    ranking = EmbeddingRanking(TextVectors(TableEmbedder(FACTS, TABLE)))
    query = Query("how to grill?", 2)
    assert semantic_search([query], ranking, FACTS.__getitem__, width=6, threshold=0.0) == []


def test_algorithm_1_from_a_query_to_its_episodes_by_hand() -> None:
    store = ReferenceStore()
    seen = ["bbq, used for, grilling", "bbq, is in, backyard", "soup, needs, carrot"]
    steps = [seen[:2], ["shed, is east of, backyard", *seen[1:]], ["spade, is in, shed"]]
    ranking = EmbeddingRanking(TextVectors(TableEmbedder(FACTS, TABLE), similarity="dot"))
    for step, texts in enumerate(steps, start=1):
        learned = [Triplet(*text.split(", ")) for text in texts]
        ranking.add(store.apply(StepChange(step, "", learned)).added)
    names = {fact.id: str(fact.triplet) for fact in store.current()}
    facts = semantic_search(
        [Query("how to grill?", 2)], ranking, store.fact, width=1, threshold=0.5
    )
    # "how to grill?" finds the bbq's use (0.75); of its vertices, "bbq" finds the backyard
    # (0.875 > 0.75) and "grilling" the use again, now with 1.
    assert [(names[item.fact.id], item.score) for item in facts] == [
        ("bbq, used for, grilling", 1.0),
        ("bbq, is in, backyard", 0.875),
    ]
    episodes = episodic_search([item.fact.id for item in facts], store, k=2)
    # Step 1: n = 2 of N = 2, 2/2 · log2 2 = 1. Step 2: n = 1 of N = 3, 1/3 · log2 3.
    # Step 3 has one triplet, none of them found: 0.
    assert [(item.episode.step, item.score) for item in episodes] == [
        (1, 1.0),
        (2, 1 / 3 * math.log2(3)),
    ]
