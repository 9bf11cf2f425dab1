"""Exact similarity search over fact texts.

The score of two vectors is the sum in float64 of the products of their float32 components, which
are exact, in numpy's pairwise order: it depends on the two vectors alone, not on a BLAS, its
threads, or what else is searched. Computing it for every fact would be slow, so bounds from a
sketch leave a few facts, a float32 product leaves fewer, and those are scored. Both filters keep
whatever rounding could have hidden, so that what is found is what scoring everything would find.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.growing import with_room
from arigraph_local.memory.search.sketch import Sketch
from arigraph_local.memory.search.text_vectors import TextVectors

Rows = npt.NDArray[np.int64]

_LEAST = float(np.finfo(np.float32).min)
_CHUNK = 8192  # vectors gathered at a time


class VectorIndex:
    """Searchable facts by the vector of their text, which `vectors` holds.

    Facts come and go without rebuilding; a fact retired keeps its row. From `sketch_from` facts
    on the sketch has `axes` principal axes: 62 and its two other numbers make rows of 256 bytes,
    and leave a hundred or so of 1e5 facts to score.
    """

    def __init__(self, vectors: TextVectors, *, sketch_from: int = 2048, axes: int = 62) -> None:
        self._vectors = vectors
        self._rows: dict[int, int] = {}
        self._ids: Rows = np.empty(0, dtype=np.int64)
        self._text_rows: Rows = np.empty(0, dtype=np.int64)
        self._sketch = Sketch(self._of, start=sketch_from, axes=axes)

    def __len__(self) -> int:
        """Facts held, retired ones included."""
        return len(self._rows)

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable, or searchable again; new ones are embedded in one call."""
        new: dict[int, Fact] = {}
        for fact in facts:
            if fact.id in self._rows:
                self._sketch.show(self._rows[fact.id], True)
            else:
                new[fact.id] = fact
        if new:
            text_rows = self._vectors.rows_of([str(fact.triplet) for fact in new.values()])
            self._append(list(new), text_rows)

    def retire(self, facts: Iterable[Fact]) -> None:
        """Make facts unsearchable; facts that are not held are ignored."""
        for fact in facts:
            if fact.id in self._rows:
                self._sketch.show(self._rows[fact.id], False)

    def top(self, queries: Vectors, width: int, threshold: float) -> list[list[tuple[int, float]]]:
        """For each query the `width` most similar facts of at least `threshold`: (fact id, score),
        by score descending, then fact id ascending.

        `queries`: shape (n, dimensions), as `TextVectors.of` gives them.
        """
        if width <= 0 or not self._rows or not len(queries):
            return [[] for _ in queries]
        return [
            self._best(query, self._survivors(query, bounds, width, threshold), width, threshold)
            for query, bounds in zip(queries, self._sketch.bounds(queries), strict=True)
        ]

    def _survivors(self, query: Vectors, bounds: Vectors, width: int, threshold: float) -> Rows:
        """Rows among which are the `width` best of at least `threshold`."""
        slack = self._sketch.slack(query)
        rounding = self._sketch.rounding(query, len(query))
        promising = max(4 * width, 32)
        floor = threshold
        if self._sketch.whole:
            floor = _raised(floor, bounds, width, slack)
        elif len(bounds) > promising:
            # Any facts will do to find a score that the best ones cannot fall below.
            least = np.partition(bounds, len(bounds) - promising)[len(bounds) - promising]
            rows = np.flatnonzero(bounds >= max(least, _LEAST))
            floor = _raised(floor, self._products(rows, query), width, rounding)
        rows = np.flatnonzero(bounds >= _below(floor - slack))
        if len(rows) > promising:
            products = self._products(rows, query)
            floor = _raised(floor, products, width, rounding)
            rows = rows[products >= _below(floor - rounding)]
        return rows

    def _best(
        self, query: Vectors, rows: Rows, width: int, threshold: float
    ) -> list[tuple[int, float]]:
        wide = query.astype(np.float64)
        scores = np.concatenate(
            [(self._of(part).astype(np.float64) * wide).sum(axis=1) for part in _parts(rows)]
        )
        ids = self._ids[rows]
        order = np.lexsort((ids, -scores))[:width]
        found = zip(ids[order].tolist(), scores[order].tolist(), strict=True)
        return [(fact_id, score) for fact_id, score in found if score >= threshold]

    def _products(self, rows: Rows, query: Vectors) -> Vectors:
        return np.concatenate([self._of(part) @ query for part in _parts(rows)])

    def _of(self, rows: Rows) -> Vectors:
        return self._vectors.at(self._text_rows[rows])

    def _append(self, ids: list[int], text_rows: Rows) -> None:
        start, end = len(self._rows), len(self._rows) + len(ids)
        self._ids = with_room(self._ids, end)
        self._text_rows = with_room(self._text_rows, end)
        self._ids[start:end] = ids
        self._text_rows[start:end] = text_rows
        self._rows.update(zip(ids, range(start, end), strict=True))
        self._sketch.append(self._vectors.at(text_rows))


def _parts(rows: Rows) -> list[Rows]:
    return [rows[first : first + _CHUNK] for first in range(0, max(len(rows), 1), _CHUNK)]


def _raised(floor: float, products: Vectors, width: int, rounding: float) -> float:
    """`floor`, or what the `width`-th best score is at least, if that is more."""
    if len(products) < width:
        return floor
    place = len(products) - width
    return max(floor, float(np.partition(products, place)[place]) - rounding)


def _below(value: float) -> np.float32:
    """The next float32 below, never minus infinity, which is the bound of what is retired."""
    below: np.float32 = np.nextafter(np.float32(max(value, _LEAST / 2)), np.float32(_LEAST))
    return below
