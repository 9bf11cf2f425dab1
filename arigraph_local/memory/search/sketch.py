"""Upper bounds of vector products from a few numbers a vector: the filter before exact scores.

A vector is split into its part in the span of a few principal axes and the rest. The product of
two vectors is that of their coefficients on the axes plus that of their rests, and the latter is
at most the product of the rests' lengths (Cauchy & Schwarz). Embeddings of fact texts lie close
to few axes, so the bound is tight; where they do not, it is loose, and still a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.growing import with_room

Wide = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-24  # of float32
_BLOCK = 256  # vectors a product
# Multiplications up to which OpenBLAS stays on one thread. Threads that share a small product
# wait for each other, on busy cores far longer than the product takes.
_SINGLE_THREAD = 2**18
_SAMPLE = 4096
_FIT_BLOCK = 4096


class Sketch:
    """A sketch of each of a growing number of vectors, numbered from 0.

    Until `start` vectors are held the sketch is the vectors themselves; then the `axes` principal
    axes of the vectors, without centring, are fitted, and again when their number has doubled.
    `vectors` gives the vectors of some numbers, shape (numbers, dimensions).
    """

    def __init__(self, vectors: Callable[[Rows], Vectors], *, start: int, axes: int) -> None:
        self._vectors = vectors
        self._axes = axes
        self._next_fit = start
        self._basis: Wide | None = None
        # A vector's coefficients, its rest's length, and 0 if it can be found, else -inf. Whole
        # vectors have no rest.
        self._table: Vectors = np.empty((0, 0), dtype=np.float32)
        self._count = 0
        self._longest = 0.0

    def __len__(self) -> int:
        """Vectors held."""
        return self._count

    def append(self, vectors: Vectors) -> None:
        """Hold more vectors, shape (n, dimensions), all of which can be found."""
        if not len(vectors):
            return
        self._longest = max(self._longest, float(_lengths(vectors.astype(np.float64)).max()))
        start, self._count = self._count, self._count + len(vectors)
        if self._count >= self._next_fit and self._axes < vectors.shape[1]:
            self._fit()
        else:
            self._write(start, vectors)

    @property
    def whole(self) -> bool:
        """Whether the sketch is the vectors themselves: a bound is the product, but for `slack`."""
        return self._basis is None

    def show(self, number: int, shown: bool) -> None:
        """Whether a vector can be found: if not, its bound is minus infinity."""
        self._table[number, -1] = 0.0 if shown else -np.inf

    def bounds(self, queries: Vectors) -> Iterator[Vectors]:
        """For each query, shape (dimensions,), upper bounds of its products with the vectors held.

        Float32, shape (vectors,). An exact product exceeds its bound by `slack` at most.
        """
        sketched = self._sketched(queries, last=1.0)
        blocks = self._table.reshape(-1, _BLOCK, self._table.shape[1]).transpose(0, 2, 1)
        blocks = blocks[: -(-self._count // _BLOCK)]
        batch = max(1, _SINGLE_THREAD // (_BLOCK * self._table.shape[1]))
        for first in range(0, len(sketched), batch):
            products = np.matmul(sketched[first : first + batch], blocks)
            for query in range(products.shape[1]):
                yield products[:, query].reshape(-1)[: self._count]

    def slack(self, query: Vectors) -> float:
        """How far rounding can push a bound of `query` below the product it bounds.

        A float32 sum of n products errs by n roundoffs of the lengths' product, in any order;
        coefficients and rests are themselves rounded. The last term is for underflow.
        """
        return self.rounding(query, self._table.shape[1])

    def rounding(self, query: Vectors, terms: int) -> float:
        """The error of a float32 product of `query` and any vector held, over `terms` terms."""
        wide = query.astype(np.float64)
        length = math.sqrt(float(wide @ wide))
        return 1.01 * (terms + 8) * UNIT_ROUNDOFF * length * self._longest + 1e-30

    def _fit(self) -> None:
        self._next_fit = 2 * self._count
        sample = np.linspace(0, self._count - 1, min(self._count, _SAMPLE)).astype(np.int64)
        rows = self._vectors(sample).astype(np.float64)
        _, axes = np.linalg.eigh(rows.T @ rows)
        was = self._table[:, -1] if len(self._table) else np.empty(0)
        hidden = np.flatnonzero(was < 0)
        self._basis = np.ascontiguousarray(axes[:, -self._axes :])
        self._table = np.empty((0, 0), dtype=np.float32)
        for start in range(0, self._count, _FIT_BLOCK):
            numbers = np.arange(start, min(start + _FIT_BLOCK, self._count))
            self._write(start, self._vectors(numbers))
        self._table[hidden, -1] = -np.inf

    def _write(self, start: int, vectors: Vectors) -> None:
        sketched = self._sketched(vectors, last=0.0)
        if not len(self._table):
            self._table = np.empty((0, sketched.shape[1]), dtype=np.float32)
        room = -(-self._count // _BLOCK) * _BLOCK
        self._table = with_room(self._table, room)
        self._table[start : start + len(vectors)] = sketched

    def _sketched(self, vectors: Vectors, *, last: float) -> Vectors:
        if self._basis is None:
            return np.pad(vectors, ((0, 0), (0, 1)), constant_values=last)
        wide = vectors.astype(np.float64)
        on_axes = _on_axes(wide, self._basis)
        squares = np.square(wide).sum(axis=1)
        # The difference of two near equals may come out too small.
        rest = np.maximum(squares - np.square(on_axes).sum(axis=1), 0) + 1e-12 * squares
        ends = np.full(len(wide), last)
        return np.column_stack([on_axes, np.sqrt(rest), ends]).astype(np.float32)


def _on_axes(wide: Wide, basis: Wide) -> Wide:
    batch = max(1, _SINGLE_THREAD // basis.size)
    return np.concatenate(
        [wide[first : first + batch] @ basis for first in range(0, len(wide), batch)]
    )


def _lengths(vectors: Wide) -> Wide:
    lengths: Wide = np.sqrt(np.square(vectors).sum(axis=1))
    return lengths
