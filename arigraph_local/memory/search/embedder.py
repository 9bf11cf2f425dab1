"""What the memory asks of a text embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. It need not cache or normalise: `TextVectors` does."""

    @property
    def name(self) -> str:
        """Name of the embedding model, as recorded in a run."""
        ...

    @property
    def threshold(self) -> float:
        """Similarity below which a triplet is not retrieved, calibrated for this model."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32, rows of any length as the model gives them."""
        ...
