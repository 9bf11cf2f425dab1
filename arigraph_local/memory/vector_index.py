"""Exact similarity search over fact texts: one float32 matrix, one product a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from arigraph_local.memory.embedder import Embedder, Vectors
from arigraph_local.memory.store import Fact

Mask = npt.NDArray[np.bool_]


class VectorIndex:
    """Facts by the embedding of their text.

    A row is never removed: a search masks the facts it may not return, and a fact that is
    learned again keeps its embedding.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._facts: list[Fact] = []
        self._rows: dict[int, int] = {}
        self._ids: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        """Facts held, retired ones included."""
        return len(self._facts)

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable; those not held yet are embedded in one call."""
        given = {fact.id: fact for fact in facts}
        new = [fact for fact_id, fact in given.items() if fact_id not in self._rows]
        if new:
            self._append(new, self._embedder.embed([str(fact.triplet) for fact in new]))

    def mask(self, fact_ids: Iterable[int]) -> Mask:
        """A mask for `top` that allows exactly these facts; ids not held are ignored."""
        allowed = np.zeros(len(self._facts), dtype=np.bool_)
        allowed[[self._rows[fact_id] for fact_id in fact_ids if fact_id in self._rows]] = True
        return allowed

    def top(
        self, query: Vectors, width: int, threshold: float, allowed: Mask
    ) -> list[tuple[int, float]]:
        """The `width` most similar allowed facts of at least `threshold`: (fact id, score), by
        score descending, then fact id ascending.

        `query` has shape (dimensions,) and unit length; `allowed` comes from `mask`.
        """
        count = len(self._facts)
        if count == 0 or width <= 0:
            return []
        scores = self._matrix[:count] @ query
        rows = np.flatnonzero(allowed & (scores >= threshold))
        if len(rows) > width:
            bound = np.partition(scores[rows], len(rows) - width)[len(rows) - width]
            rows = rows[scores[rows] >= bound]
        best = rows[np.lexsort((self._ids[rows], -scores[rows]))[:width]]
        return [(int(self._ids[row]), float(scores[row])) for row in best]

    def _append(self, facts: Sequence[Fact], vectors: Vectors) -> None:
        start, end = len(self._facts), len(self._facts) + len(facts)
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids), 64), vectors.shape[1])
        self._matrix[start:end] = vectors
        self._ids[start:end] = [fact.id for fact in facts]
        self._rows.update({fact.id: start + offset for offset, fact in enumerate(facts)})
        self._facts.extend(facts)

    def _grow(self, capacity: int, dimensions: int) -> None:
        count = len(self._facts)
        matrix = np.zeros((capacity, dimensions), dtype=np.float32)
        if count:
            matrix[:count] = self._matrix[:count]
        ids = np.zeros(capacity, dtype=np.int64)
        ids[:count] = self._ids[:count]
        self._matrix, self._ids = matrix, ids
