"""Every text embedded once, ever: the vectors of all texts, in memory and beside the graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.search.embedder import Embedder, Vectors
from arigraph_local.memory.search.growing import with_room
from arigraph_local.memory.search.vector_file import VectorFile

Similarity = Literal["cosine", "dot"]
Rows = npt.NDArray[np.int64]

# Float32 products of longer vectors could overflow in a sum.
_LONGEST = 1e15
_BLOCK = 4096  # vectors scaled at a time


class TextVectors:
    """Texts to vectors, through `embedder` the first time and from memory ever after.

    With `similarity` cosine the vectors are scaled to unit length; with dot, which Contriever
    was trained for, they stay as the model gives them. With `file` they outlive the process.

    The rows are held once: whoever needs many of them keeps row numbers and asks `at`.
    Raises `RunError` or `UsageError` as `VectorFile` does.
    """

    def __init__(
        self, embedder: Embedder, *, similarity: Similarity = "cosine", file: Path | None = None
    ) -> None:
        self._embedder = embedder
        self._similarity = similarity
        self._rows: dict[str, int] = {}
        self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)
        self._file: VectorFile | None = None
        if file is not None:
            self._file = VectorFile(file, embedder.name)
            self._load(*self._file.read())

    @property
    def embedder(self) -> Embedder:
        """The model behind the vectors."""
        return self._embedder

    @property
    def similarity(self) -> Similarity:
        """What the product of two vectors means."""
        return self._similarity

    def __len__(self) -> int:
        """Texts held."""
        return len(self._rows)

    def of(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32; unit rows for cosine.

        What is new goes to the embedder in one call, and to the file in one transaction.
        Raises `ArigraphError` if the embedder gives anything but one finite vector a text, and
        `RunError` if the file cannot be written; neither leaves anything behind.
        """
        return self.at(self.rows_of(texts))

    def rows_of(self, texts: Sequence[str]) -> Rows:
        """The row numbers of texts, for `at`; shape (len(texts),). Embeds as `of` does."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            given = self._checked(new, self._embedder.embed(new))
            rows = self._scaled(new, given)
            if self._file is not None:
                self._file.append(new, given)
            self._append(new, rows)
        return np.array([self._rows[text] for text in texts], dtype=np.int64)

    def at(self, rows: Rows) -> Vectors:
        """The vectors of these row numbers, shape (len(rows), dimensions)."""
        return self._matrix[rows]

    def close(self) -> None:
        """Close the file. Closing twice is harmless; vectors held still answer."""
        if self._file is not None:
            self._file.close()

    def _checked(self, texts: Sequence[str], given: Vectors) -> Vectors:
        """`given` as float32, if it is one finite vector a text, of the dimensions held."""
        name = self._embedder.name
        vectors = np.ascontiguousarray(given, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise ArigraphError(
                f"embedder '{name}' gave an array of shape {vectors.shape} for {len(texts)} texts"
            )
        held = self._matrix.shape[1]
        if held and vectors.shape[1] != held:
            where = f"{self._file.path} holds" if self._file else "it gave before"
            cure = f": delete {self._file.path} to embed everything again" if self._file else ""
            raise ArigraphError(
                f"embedder '{name}' gave a vector of {vectors.shape[1]} dimensions for "
                f"{_start(texts[0])}, {where} vectors of {held}{cure}"
            )
        for row in np.flatnonzero(~(_lengths(vectors) < _LONGEST)).tolist():
            raise ArigraphError(
                f"embedder '{name}' gave a vector that is not finite for {_start(texts[row])}"
            )
        return vectors

    def _scaled(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        if self._similarity == "dot":
            return vectors
        lengths = _lengths(vectors)
        for row in np.flatnonzero(lengths == 0).tolist():
            # A text of no words has no direction: nothing is similar to it.
            if texts[row].strip():
                raise ArigraphError(
                    f"embedder '{self._embedder.name}' gave a zero vector for {_start(texts[row])}"
                )
            lengths[row] = 1
        return (vectors / lengths[:, None]).astype(np.float32)

    def _load(self, texts: Sequence[str], vectors: Vectors) -> None:
        # Block by block in place: there may be hundreds of megabytes.
        for first in range(0, len(texts), _BLOCK):
            block = slice(first, min(first + _BLOCK, len(texts)))
            vectors[block] = self._scaled(texts[block], vectors[block])
        self._matrix = vectors
        self._rows = {text: row for row, text in enumerate(texts)}

    def _append(self, texts: Sequence[str], vectors: Vectors) -> None:
        start, end = len(self._rows), len(self._rows) + len(texts)
        if not start:
            self._matrix = np.empty((0, vectors.shape[1]), dtype=np.float32)
        self._matrix = with_room(self._matrix, end)
        self._matrix[start:end] = vectors
        self._rows.update(zip(texts, range(start, end), strict=True))


def _lengths(vectors: Vectors) -> npt.NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    lengths: npt.NDArray[np.float64] = np.sqrt((wide * wide).sum(axis=1))
    return lengths


def _start(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
