"""BM25 and reciprocal rank fusion, against the formulas written out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hashed_embedder import HashedEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.search.bm25 import BM25, words_of
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.ranking import EmbeddingRanking, HybridRanking, make_ranking
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.triplet import Triplet

WORDS = ("key", "locker", "is", "in", "red", "room")


def fact(number: int, text: str) -> Fact:
    return Fact(number, Triplet(*text.split(", ")))


def by_the_formula(facts: Sequence[Fact], query: str) -> list[tuple[int, float]]:
    """Every fact with a positive score, best first: the definition, fact by fact."""
    documents = {item.id: words_of(str(item.triplet)) for item in facts}
    count = len(documents)
    scored = []
    for number, words in documents.items():
        score = 0.0
        for word in dict.fromkeys(words_of(query)):
            holding = sum(word in other for other in documents.values())
            if word in words:
                mean = sum(map(len, documents.values())) / count
                idf = math.log1p((count - holding + 0.5) / (holding + 0.5))
                often = words.count(word)
                length = 1 - 0.75 + 0.75 * (len(words) / mean)
                score += idf * often * (1.5 + 1) / (often + 1.5 * length)
        if score > 0:
            scored.append((-score, number))
    return [(number, -negated) for negated, number in sorted(scored)]


def test_the_score_by_hand() -> None:
    index = BM25()
    index.add([fact(1, "key, is in, locker"), fact(2, "red key, opens, red locker")])
    index.add([fact(3, "soup, needs, carrot")])
    # N = 3; lengths 4, 5, 3, mean 4. "red" is in fact 2 alone, twice:
    # idf = ln(1 + 2.5 / 1.5), length part 1.5 · (0.25 + 0.75 · 5/4) = 1.78125.
    [(number, score)] = index.top("The RED one", 5)
    assert number == 2
    assert math.isclose(score, math.log(1 + 2.5 / 1.5) * 2 * 2.5 / (2 + 1.78125))
    # "key" is in facts 1 and 2, once each: the shorter fact comes first.
    assert [number for number, _ in index.top("key", 5)] == [1, 2]
    assert index.top("nothing known", 5) == []
    assert index.top("", 5) == index.top("key", 0) == []


def test_statistics_are_those_of_the_searchable_facts() -> None:
    index, rest = BM25(), BM25()
    facts = [fact(1, "key, is in, locker"), fact(2, "key, is in, room"), fact(3, "room, is, red")]
    index.add(facts)
    index.retire([facts[0], facts[0]])
    rest.add(facts[1:])
    for query in ("key", "is in room", "locker"):
        assert index.top(query, 5) == rest.top(query, 5)
    index.add([facts[0]])
    assert [number for number, _ in index.top("locker", 5)] == [1]
    index.retire(facts)
    assert index.top("key", 5) == []


@settings(deadline=None, max_examples=50)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=3, max_size=8), max_size=70),
    steps=st.lists(st.tuples(st.booleans(), st.sets(st.integers(1, 70))), max_size=6),
    query=st.lists(st.sampled_from((*WORDS, "unknown")), max_size=6),
    width=st.integers(1, 9),
)
def test_bm25_equals_the_formula_after_any_adds_and_retires(
    texts: list[list[str]], steps: list[tuple[bool, set[int]]], query: list[str], width: int
) -> None:
    facts = {
        number: Fact(number, Triplet(words[0], words[1], " ".join(words[2:])))
        for number, words in enumerate(texts, start=1)
    }
    index = BM25()
    held: set[int] = set()
    for adding, numbers in [(True, set(facts)), *steps]:
        known = numbers & set(facts)
        (index.add if adding else index.retire)(facts[number] for number in sorted(known))
        held = held | known if adding else held - known
    text = " ".join(query)
    expected = by_the_formula([facts[number] for number in sorted(held)], text)
    assert index.top(text, width) == expected[:width]


class Angles:
    """The query points to 0 degrees, fact `…, at, N` to N degrees."""

    name = "angles"
    threshold = 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        degrees = [int(t.rsplit(" ", 1)[1]) if ", at, " in t else 0 for t in texts]
        radians = np.deg2rad(degrees)
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_reciprocal_rank_fusion_by_hand() -> None:
    ranking = HybridRanking(TextVectors(Angles()))
    ranking.add([fact(1, "lamp, at, 10"), fact(2, "gold key, at, 20"), fact(3, "key, at, 80")])
    ranking.add([fact(4, "soup, at, 70")])
    # Embedding, cosine at least 0.5 (60 degrees): 1, 2. BM25 for "key": 3 (shorter), 2.
    # 2: 1/62 + 1/62; 1 and 3: 1/61 each, so by id.
    [found] = ranking.retrieve(["key"], 5, 0.5)
    assert found == [(2, 1 / 62 + 1 / 62), (1, 1 / 61), (3, 1 / 61)]
    assert ranking.retrieve(["key"], 2, 0.5) == [found[:2]]
    assert ranking.retrieve(["key", "key"], 0, 0.5) == [[], []]
    ranking.retire([fact(2, "gold key, at, 20")])
    assert ranking.retrieve(["key"], 5, 0.5) == [[(1, 1 / 61), (3, 1 / 61)]]


@settings(deadline=None, max_examples=40)
@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=3, max_size=6), max_size=120, unique_by=tuple
    ),
    queries=st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=4),
    width=st.integers(1, 80),
)
def test_fusion_equals_its_definition(
    texts: list[list[str]], queries: list[list[str]], width: int
) -> None:
    facts = [
        Fact(number, Triplet(words[0], words[1], " ".join(words[2:])))
        for number, words in enumerate(texts, start=1)
    ]
    vectors = TextVectors(HashedEmbedder())
    hybrid, embedding = HybridRanking(vectors), EmbeddingRanking(vectors)
    hybrid.add(facts)
    embedding.add(facts)
    asked = [" ".join(words) for words in queries]
    depth = max(width, 50)
    expected = []
    for text, similar in zip(asked, embedding.retrieve(asked, depth, 0.2), strict=True):
        sums: dict[int, float] = {}
        for hits in (similar, by_the_formula(facts, text)[:depth]):
            for place, (number, _) in enumerate(hits):
                sums[number] = sums.get(number, 0.0) + 1 / (61 + place)
        order = sorted((-total, number) for number, total in sums.items())
        expected.append([(number, -negated) for negated, number in order[:width]])
    assert hybrid.retrieve(asked, width, 0.2) == expected


def test_the_ranking_is_made_by_name() -> None:
    vectors = TextVectors(HashedEmbedder())
    assert isinstance(make_ranking("embedding", vectors), EmbeddingRanking)
    assert isinstance(make_ranking("hybrid", vectors), HybridRanking)
