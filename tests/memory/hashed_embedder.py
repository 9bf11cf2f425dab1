"""An embedder of made-up vectors: small whole numbers, so that equal scores are common."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from arigraph_local.memory.search.embedder import Vectors


class HashedEmbedder:
    """Each text a vector of whole numbers from -`spread` to `spread`, never zero."""

    threshold = 0.0

    def __init__(self, dimensions: int = 4, spread: int = 2, name: str = "hashed") -> None:
        self.name = name
        self.calls: list[list[str]] = []
        self._dimensions = dimensions
        self._spread = spread

    @property
    def embedded(self) -> list[str]:
        return [text for call in self.calls for text in call]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> Vectors:
        return _vector(text, self._dimensions, self._spread)


@cache
def _vector(text: str, dimensions: int, spread: int) -> Vectors:
    seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    generator = np.random.default_rng(list(seed[:8]))
    row = generator.integers(-spread, spread + 1, dimensions)
    row[0] = row[0] if row.any() else 1
    return row.astype(np.float32)
