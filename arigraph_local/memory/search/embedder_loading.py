"""From an embedder's name to an embedder."""

from __future__ import annotations

from pathlib import Path

from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.files.registry import ModelKind
from arigraph_local.memory.search.sentence_transformer import SentenceTransformerEmbedder


def load_embedder(
    name: str = "all-minilm-l6-v2", models: Path | None = None, batch_size: int = 1
) -> SentenceTransformerEmbedder:
    """The embedder of a catalogue name, or of a sentence-transformers folder by path.

    The weights are read at the first use. Only the catalogue knows a calibrated threshold; the
    triplets of another embedder are all candidates unless `memory.threshold` is set.
    `batch_size`: texts that go through the network together; more than 1 is faster, and changes
    the last bits of the vectors.
    """
    model = locate(name, models_folder(models), ModelKind.EMBEDDER)
    threshold = model.entry.threshold if model.entry else None
    return SentenceTransformerEmbedder(
        model.path,
        model.name,
        -1.0 if threshold is None else threshold,
        batch_size=batch_size,
    )
