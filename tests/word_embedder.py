"""An embedder that needs no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from arigraph_local.memory.search.embedder import Vectors


class WordEmbedder:
    """Texts as unit vectors of hashed words: similar when they share words."""

    name = "words"
    threshold = 0.1
    dimensions = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or ["-"]:
                digest = hashlib.sha256(word.encode()).digest()
                row[digest[0] % self.dimensions] += 1
            row /= np.linalg.norm(row)
        return rows
