"""Text embeddings by a local sentence-transformers folder, never from the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.memory.search.embedder import Vectors

_REQUIRED = ("modules.json", "config.json")


class SentenceTransformerEmbedder:
    """An `Embedder` on the sentence-transformers model in `folder`.

    With `batch_size` 1 a text gives the same bytes whatever it is embedded with: each goes
    through the network alone. In a batch, padding changes the last bits, and so does the number
    of rows even where nothing is padded: a run that is resumed then embeds in other batches and
    may end otherwise. Batches of 32 are several times faster. Nothing is cached here.
    Raises `ModelFileError` if `folder` is not such a model.
    """

    def __init__(self, folder: Path, name: str, threshold: float, *, batch_size: int = 1) -> None:
        for required in _REQUIRED:
            if not (folder / required).is_file():
                raise ModelFileError(f"{folder} is not an embedding model: it has no {required}")
        if batch_size < 1:
            raise UsageError(f"batch size {batch_size}: it must be at least 1")
        self._folder = folder
        self._name = name
        self._threshold = threshold
        self._batch_size = batch_size
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
        """Shape (len(texts), dimensions), float32, rows as the model's own modules leave them."""
        vectors: Vectors = self._model().encode(
            list(texts) or [""],
            batch_size=self._batch_size,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors[: len(texts)], dtype=np.float32)

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
