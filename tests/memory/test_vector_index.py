"""Exact search: to the bit what scoring every fact would give, whatever the filters do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.text_vectors import Rows, Similarity, TextVectors
from arigraph_local.memory.search.vector_index import VectorIndex
from arigraph_local.memory.triplet import Triplet


class RowEmbedder:
    """A fact `thing N, is, row` is row N of a matrix."""

    name = "rows"
    threshold = 0.5

    def __init__(self, matrix: Vectors) -> None:
        self.matrix = matrix
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return self.matrix[[int(text.split(", ")[0].removeprefix("thing ")) for text in texts]]


def fact(number: int) -> Fact:
    return Fact(number, Triplet(f"thing {number}", "is", "row"))


def angles(*degrees: float) -> Vectors:
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def exact(query: Vectors, row: Vectors) -> float:
    return float(np.sum(query.astype(np.float64) * row.astype(np.float64)))


def by_scoring_everything(
    queries: Vectors, rows: dict[int, Vectors], width: int, threshold: float
) -> list[list[tuple[int, float]]]:
    answers = []
    for query in queries:
        scored = [(exact(query, row), number) for number, row in rows.items()]
        best = sorted((-score, number) for score, number in scored if score >= threshold)
        answers.append([(number, -negated) for negated, number in best[:width]])
    return answers


def build(
    matrix: Vectors, similarity: Similarity = "cosine", start: int = 8, axes: int = 2
) -> tuple[VectorIndex, TextVectors, RowEmbedder]:
    embedder = RowEmbedder(matrix)
    vectors = TextVectors(embedder, similarity=similarity)
    return VectorIndex(vectors, sketch_from=start, axes=axes), vectors, embedder


def test_the_closest_facts_come_first_and_equal_scores_by_id() -> None:
    index, _, _ = build(angles(0, 60, 30, 30, 180))
    index.add([fact(4), fact(3), fact(1), fact(2), fact(0)])
    [found] = index.top(angles(0), 4, 0.0)
    # cos 0 = 1, cos 30 = 0.866 twice, cos 60 = 0.5; cos 180 is below the threshold.
    assert [number for number, _ in found] == [0, 2, 3, 1]
    assert np.allclose([score for _, score in found], [1, 0.8660254, 0.8660254, 0.5])
    assert [[number for number, _ in hits] for hits in index.top(angles(0, 60), 2, 0.6)] == [
        [0, 2],
        [1, 2],
    ]


def test_the_threshold_itself_is_reached() -> None:
    index, _, _ = build(angles(0))
    index.add([fact(0)])
    assert index.top(angles(0), 1, 1.0) == [[(0, 1.0)]]
    assert index.top(angles(0), 1, float(np.nextafter(1.0, 2.0))) == [[]]


def test_retired_facts_are_not_found_and_a_relearned_one_is_not_embedded_again() -> None:
    index, _, embedder = build(angles(0, 10, 20))
    index.add([fact(0), fact(1), fact(1)])
    index.retire([fact(0), fact(2)])
    assert [number for number, _ in index.top(angles(0), 3, -1.0)[0]] == [1]
    index.add([fact(0), fact(2)])
    assert [number for number, _ in index.top(angles(0), 3, -1.0)[0]] == [0, 1, 2]
    assert embedder.calls == [["thing 0, is, row", "thing 1, is, row"], ["thing 2, is, row"]]
    assert len(index) == 3


def test_nothing_to_find_is_found_quietly() -> None:
    index, _, _ = build(angles(0))
    assert index.top(angles(0, 1), 3, 0.0) == [[], []]
    index.add([])
    index.add([fact(0)])
    assert index.top(angles(0), 0, 0.0) == [[]]
    assert index.top(angles()[:0], 3, 0.0) == []
    index.retire([fact(0)])
    assert index.top(angles(0), 3, -1e30) == [[]]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_top_equals_scoring_everything_to_the_bit(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 90))
    dimensions = data.draw(st.integers(1, 12))
    similarity: Similarity = data.draw(st.sampled_from(["cosine", "dot"]))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # Few distinct coarse rows give ties; tiny differences give scores that float32 cannot part.
    rows = generator.integers(-2, 3, (data.draw(st.integers(1, 30)), dimensions)).astype(float)
    matrix = rows[generator.integers(0, len(rows), count)]
    matrix += data.draw(st.sampled_from([0, 1e-7, 0.3])) * generator.standard_normal(matrix.shape)
    matrix *= data.draw(st.sampled_from([1, 1e-12, 1e12])) if similarity == "dot" else 1
    matrix[~matrix.any(axis=1)] = 1
    index, vectors, embedder = build(
        matrix.astype(np.float32), similarity, data.draw(st.integers(1, 40)), 2
    )
    held: dict[int, Vectors] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        learned = [fact(n) for n in data.draw(st.lists(st.integers(0, count - 1), max_size=60))]
        gone = [fact(n) for n in data.draw(st.lists(st.integers(0, count - 1), max_size=20))]
        index.add(learned)
        index.retire(gone)
        held |= {item.id: vectors.of([str(item.triplet)])[0] for item in learned}
        held = {number: row for number, row in held.items() if fact(number) not in gone}
        queries = vectors.of([f"thing {number}, is, row" for number in range(min(count, 5))])
        width = data.draw(st.integers(1, 8))
        threshold = data.draw(st.sampled_from([-1e30, 0.0, 0.5, 1.0]))
        found = index.top(queries, width, threshold)
        assert found == by_scoring_everything(queries, held, width, threshold)
        assert [index.top(query[None], width, threshold)[0] for query in queries] == found
    embedded = [text for call in embedder.calls for text in call]
    assert len(embedded) == len(set(embedded))


@pytest.mark.parametrize("compressible", [True, False])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_thousands_of_facts_through_several_fits(
    compressible: bool, similarity: Similarity
) -> None:
    generator = np.random.default_rng(7)
    matrix = generator.standard_normal((3000, 48))
    if compressible:
        matrix = matrix @ np.diag(0.8 ** np.arange(48)) + 3 * (np.arange(48) < 2)
    matrix[1500] = matrix[20]
    index, vectors, _ = build(matrix.astype(np.float32), similarity, 256, 8)
    for start in range(0, 3000, 170):
        index.add([fact(number) for number in range(start, min(start + 170, 3000))])
        index.retire([fact(number) for number in range(start, start + 30)])
    index.add([fact(20)])
    queries = vectors.of([f"thing {number}, is, row" for number in (20, 0, 500, 1501, 2999)])
    held = {
        number: vectors.of([f"thing {number}, is, row"])[0]
        for number in range(3000)
        if number % 170 >= 30 or number == 20
    }
    for width in (1, 6, 100):
        found = index.top(queries, width, -1.0)
        assert found == by_scoring_everything(queries, held, width, -1.0)
    if similarity == "cosine":
        assert [number for number, _ in index.top(queries, 2, -1.0)[0]] == [20, 1500]


def test_the_sketch_leaves_few_of_many_facts_to_score(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(8)
    matrix = (generator.standard_normal((4000, 96)) @ np.diag(0.7 ** np.arange(96))).astype(
        np.float32
    )
    index, vectors, _ = build(matrix, start=512, axes=16)
    index.add([fact(number) for number in range(4000)])
    query = vectors.of(["thing 9, is, row"])
    gathered: list[int] = []

    def count(rows: Rows) -> Vectors:
        gathered.append(len(rows))
        return TextVectors.at(vectors, rows)

    monkeypatch.setattr(vectors, "at", count)
    index.top(query, 6, 0.3)
    assert sum(gathered) < 200


@pytest.mark.parametrize("start", [16, 1000])
def test_scores_that_float32_cannot_tell_apart_are_ranked_exactly(start: int) -> None:
    generator = np.random.default_rng(9)
    base = generator.standard_normal((1, 384))
    matrix = base + 1e-6 * generator.standard_normal((300, 384))
    matrix[:40] = generator.standard_normal((40, 384)) + base
    index, vectors, _ = build(matrix.astype(np.float32), start=start, axes=8)
    index.add([fact(number) for number in range(300)])
    queries = vectors.of([f"thing {number}, is, row" for number in range(40)])
    held = {number: vectors.of([f"thing {number}, is, row"])[0] for number in range(300)}
    for width in (2, 40):
        expected = by_scoring_everything(queries, held, width, 0.0)
        assert index.top(queries, width, 0.0) == expected
    for query in queries:
        scores = sorted(exact(query, row) for row in held.values())
        # The threshold is the score of one fact among many: it is found, the next one is not.
        expected = by_scoring_everything(query[None], held, 40, scores[-20])
        assert index.top(query[None], 40, scores[-20]) == expected


def test_retired_facts_set_no_bar_for_the_rest() -> None:
    generator = np.random.default_rng(10)
    matrix = np.abs(generator.standard_normal((200, 16)))
    matrix[:190] += 10 * matrix[0]
    index, vectors, _ = build(matrix.astype(np.float32), start=32, axes=4)
    index.add([fact(number) for number in range(200)])
    index.retire([fact(number) for number in range(190)])
    query = vectors.of(["thing 0, is, row"])
    rows = {number: vectors.of([f"thing {number}, is, row"])[0] for number in range(190, 200)}
    assert index.top(query, 3, -1.0) == by_scoring_everything(query, rows, 3, -1.0)
