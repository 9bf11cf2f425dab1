"""Text embeddings by a local sentence-transformers folder, never from the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from arigraph_local.errors import ModelFileError
from arigraph_local.memory.embedder import Vectors

_REQUIRED = ("modules.json", "config.json")


class SentenceTransformerEmbedder:
    """An `Embedder` on the sentence-transformers model in `folder`.

    A text gives the same bytes whatever it is embedded with: each goes through the network alone.
    In a batch, padding changes the last bits, and so does the number of rows even where nothing
    is padded; the price is about 4 times the time of batches of 32. Every text is embedded once
    and then kept. Raises `ModelFileError` if `folder` is not such a model.
    """

    def __init__(self, folder: Path, name: str, threshold: float) -> None:
        for required in _REQUIRED:
            if not (folder / required).is_file():
                raise ModelFileError(f"{folder} is not an embedding model: it has no {required}")
        self._folder = folder
        self._name = name
        self._threshold = threshold
        self._cache: dict[str, Vectors] = {}
        self._loading: Future[Any] | None = None

    @property
    def name(self) -> str:
        """Name of the embedding model."""
        return self._name

    @property
    def threshold(self) -> float:
        """Similarity below which a triplet is not retrieved."""
        return self._threshold

    def start_loading(self) -> None:
        """Begin to import torch and load the model in a thread; the first `embed` waits for it.

        A failure to load is raised there.
        """
        if self._loading is None:
            loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
            self._loading = loader.submit(_load, self._folder)
            loader.shutdown(wait=False)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32, rows of unit length."""
        model = self._model()
        new = [text for text in dict.fromkeys(texts) if text not in self._cache]
        if new:
            vectors = model.encode(
                new,
                batch_size=1,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            self._cache.update(zip(new, vectors.astype(np.float32), strict=True))
        if not texts:
            return self.embed([""])[:0]
        return np.stack([self._cache[text] for text in texts])

    def _model(self) -> Any:
        self.start_loading()
        assert self._loading is not None
        return self._loading.result()


def _load(folder: Path) -> Any:
    # `local_files_only` alone does not keep sentence-transformers from calling the hub.
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    # Two threads collapse when the language model keeps the cores busy.
    torch.set_num_threads(1)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    except Exception as error:  # the loaders below raise their own unrelated types
        reason = " ".join(str(error).split())[:200]
        raise ModelFileError(
            f"{folder} cannot be loaded as an embedding model: {reason}"
        ) from error
