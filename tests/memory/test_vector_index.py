"""Exact search: order, ties, masks, and embeddings computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.memory.embedder import Vectors
from arigraph_local.memory.store import Fact
from arigraph_local.memory.triplet import Triplet
from arigraph_local.memory.vector_index import VectorIndex


class AngleEmbedder:
    """A fact `..., angle, N` is a vector of the plane at N degrees."""

    name = "angles"
    threshold = 0.5

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return np.stack([angle(int(text.rsplit(", ", 1)[1])) for text in texts])


def angle(degrees: int) -> Vectors:
    radians = np.deg2rad(degrees)
    return np.array([np.cos(radians), np.sin(radians)], dtype=np.float32)


def fact(fact_id: int, degrees: int) -> Fact:
    return Fact(fact_id, Triplet(f"thing {fact_id}", "angle", str(degrees)))


def test_the_closest_facts_come_first_and_equal_scores_by_id() -> None:
    index = VectorIndex(AngleEmbedder())
    index.add([fact(4, 60), fact(9, 30), fact(2, 30), fact(7, 0), fact(3, 180)])
    everything = index.mask([2, 3, 4, 7, 9])
    found = index.top(angle(0), 4, 0.0, everything)
    assert [fact_id for fact_id, _ in found] == [7, 2, 9, 4]
    assert np.allclose([score for _, score in found], [1, 0.8660254, 0.8660254, 0.5])
    assert [fact_id for fact_id, _ in index.top(angle(0), 2, 0.0, everything)] == [7, 2]
    assert [fact_id for fact_id, _ in index.top(angle(0), 9, 0.6, everything)] == [7, 2, 9]


def test_the_threshold_itself_is_reached() -> None:
    index = VectorIndex(AngleEmbedder())
    index.add([fact(1, 0)])
    assert index.top(angle(0), 1, 1.0, index.mask([1])) == [(1, 1.0)]


def test_masked_facts_are_not_found_and_a_relearned_one_is_not_embedded_again() -> None:
    embedder = AngleEmbedder()
    index = VectorIndex(embedder)
    index.add([fact(1, 0), fact(2, 10)])
    assert [fact_id for fact_id, _ in index.top(angle(0), 2, 0.0, index.mask([2, 99]))] == [2]
    index.add([fact(1, 0), fact(3, 20), fact(3, 20)])
    assert embedder.calls == [
        ["thing 1, angle, 0", "thing 2, angle, 10"],
        ["thing 3, angle, 20"],
    ]
    found = index.top(angle(0), 3, 0.0, index.mask([1, 2, 3]))
    assert [fact_id for fact_id, _ in found] == [1, 2, 3]
    assert len(index) == 3


def test_an_empty_index_and_a_width_of_zero_find_nothing() -> None:
    index = VectorIndex(AngleEmbedder())
    assert index.top(angle(0), 3, 0.0, index.mask([1])) == []
    index.add([fact(1, 0)])
    assert index.top(angle(0), 0, 0.0, index.mask([1])) == []


@settings(deadline=None)
@given(
    degrees=st.lists(st.integers(0, 90), min_size=1, max_size=200),
    batch=st.integers(1, 70),
    width=st.integers(1, 10),
    kept=st.sets(st.integers(1, 200)),
)
def test_top_equals_sorting_everything(
    degrees: list[int], batch: int, width: int, kept: set[int]
) -> None:
    index = VectorIndex(AngleEmbedder())
    facts = [fact(number, value) for number, value in enumerate(degrees, start=1)]
    for start in range(0, len(facts), batch):
        index.add(facts[start : start + batch])
    ranked = sorted((value, number) for number, value in enumerate(degrees, start=1))
    expected = [number for value, number in ranked if number in kept and value <= 80][:width]
    threshold = float(np.cos(np.deg2rad(80.5)))
    found = index.top(angle(0), width, threshold, index.mask(kept))
    assert [fact_id for fact_id, _ in found] == expected
