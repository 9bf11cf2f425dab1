"""Every text embedded once, checked, scaled the same in any company."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hashed_embedder import HashedEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.text_vectors import TextVectors


class Giving:
    """An embedder that gives the array it is told to."""

    name = "giving"
    threshold = 0.0

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array(self.rows, dtype=np.float32)


def test_a_text_is_embedded_once_and_new_ones_in_one_call() -> None:
    embedder = HashedEmbedder()
    vectors = TextVectors(embedder)
    first = vectors.of(["key", "locker", "key"])
    again = vectors.of(["soup", "locker", "", "key"])
    assert embedder.calls == [["key", "locker"], ["soup", ""]]
    assert first[0].tobytes() == first[2].tobytes() == again[3].tobytes()
    assert first[1].tobytes() == again[1].tobytes()
    assert len(vectors) == 4


def test_no_texts_need_no_embedder() -> None:
    vectors = TextVectors(Giving(None))
    assert vectors.of([]).shape == (0, 0)
    vectors = TextVectors(HashedEmbedder(dimensions=3))
    vectors.of(["key"])
    assert vectors.of([]).shape == (0, 3)


def test_cosine_scales_to_unit_length_and_dot_leaves_the_models_length() -> None:
    assert TextVectors(Giving([[3, 4]])).of(["key"]).tolist() == [
        [float(np.float32(0.6)), float(np.float32(0.8))]
    ]
    assert TextVectors(Giving([[3, 4]]), similarity="dot").of(["key"]).tolist() == [[3, 4]]


@settings(deadline=None)
@given(st.lists(st.text(max_size=5), min_size=1, max_size=30, unique=True), st.integers(1, 300))
def test_a_vector_does_not_depend_on_its_company(texts: list[str], dimensions: int) -> None:
    together = TextVectors(HashedEmbedder(dimensions, 9)).of(texts)
    alone = TextVectors(HashedEmbedder(dimensions, 9))
    assert together.dtype == np.float32
    assert together.tobytes() == np.concatenate([alone.of([text]) for text in texts]).tobytes()
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2]], "an array of shape (1, 2) for 2 texts"),
        ([1, 2], "an array of shape (2,) for 2 texts"),
        ([[], []], "an array of shape (2, 0) for 2 texts"),
        ([[1, 2], [np.nan, 1]], "a vector that is not finite for 'the key'"),
        ([[np.inf, 2], [1, 1]], "a vector that is not finite for ''"),
        ([[1, 2], [1e30, 1]], "a vector that is not finite for 'the key'"),
        ([[1, 2], [0, 0]], "a zero vector for 'the key'"),
    ],
)
def test_a_vector_that_is_none_is_refused_by_name(rows: object, message: str) -> None:
    embedder = Giving(rows)
    vectors = TextVectors(embedder)
    with pytest.raises(ArigraphError, match=re.escape(f"embedder 'giving' gave {message}")):
        vectors.of(["", "the key"])
    embedder.rows = [[1, 0], [0, 1]]
    assert vectors.of(["", "the key"]).tolist() == [[1, 0], [0, 1]]


def test_a_long_text_is_named_by_its_start() -> None:
    with pytest.raises(ArigraphError, match=f"not finite for '{'x' * 60}…'$"):
        TextVectors(Giving([[np.nan]])).of(["x" * 10_000])


def test_a_change_of_dimensions_is_refused() -> None:
    embedder = Giving([[1, 2]])
    vectors = TextVectors(embedder)
    vectors.of(["key"])
    embedder.rows = [[1, 2, 3]]
    with pytest.raises(ArigraphError, match="3 dimensions for 'soup', it gave before vectors of 2"):
        vectors.of(["soup"])


def test_a_blank_text_may_have_no_direction() -> None:
    assert TextVectors(Giving([[0, 0]])).of([" \n"]).tolist() == [[0, 0]]
    assert TextVectors(Giving([[0, 0]]), similarity="dot").of(["key"]).tolist() == [[0, 0]]


def test_vectors_outlive_the_process_and_are_never_embedded_again(tmp_path: Path) -> None:
    texts = ["key", "", "line\nbreak", "null\0byte", "l'été 鍵", "\ud800 alone", "x" * 10_000]
    first = HashedEmbedder()
    vectors = TextVectors(first, file=tmp_path / "graph.vectors")
    kept = vectors.of(texts[:3]).tobytes(), vectors.of(texts).tobytes()
    vectors.close()
    vectors.close()
    second = HashedEmbedder()
    again = TextVectors(second, file=tmp_path / "graph.vectors")
    assert (again.of(texts[:3]).tobytes(), again.of(texts).tobytes()) == kept
    assert second.calls == []
    again.of(["key", "new"])
    again.close()
    assert second.calls == [["new"]]
    third = HashedEmbedder()
    # The vectors are kept as the model gave them, so either similarity may be asked of them.
    raw = TextVectors(third, similarity="dot", file=tmp_path / "graph.vectors")
    assert raw.of(["new", "key"]).tolist() == [third.vector(t).tolist() for t in ("new", "key")]
    assert third.calls == []
    raw.close()
