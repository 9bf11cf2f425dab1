"""The sentence-transformers embedder: the same text, the same bytes, never from the network."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.memory.search.sentence_transformer import SentenceTransformerEmbedder

NAME = "all-minilm-l6-v2"
WORDS = ("kitchen", "room", "key", "locker", "is", "in", "has", "exit", "west", "requires", "the")


def minilm() -> Path:
    base = os.environ.get("ARIGRAPH_MODELS")
    models = Path(base) if base else platformdirs.user_data_path("arigraph-local") / "models"
    for folder in sorted(models.glob("*")):
        if folder.name.lower() == NAME and (folder / "modules.json").is_file():
            return folder
    pytest.skip(f"{NAME} is not in {models}: run `arigraph models fetch {NAME}`")


def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(minilm(), NAME, 0.5)


def test_a_folder_that_is_no_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"is not an embedding model: it has no modules\.json"):
        SentenceTransformerEmbedder(tmp_path, NAME, 0.5)


@pytest.mark.model
def test_a_damaged_model_is_named_in_one_line(tmp_path: Path) -> None:
    for source in minilm().rglob("*"):
        if source.is_file():
            target = tmp_path / source.relative_to(minilm())
            target.parent.mkdir(parents=True, exist_ok=True)
            data = source.read_bytes()
            target.write_bytes(data[:1000] if source.suffix == ".safetensors" else data)
    damaged = SentenceTransformerEmbedder(tmp_path, NAME, 0.5)
    damaged.start_loading()
    with pytest.raises(ModelFileError, match="cannot be loaded") as caught:
        damaged.embed(["key"])
    assert "\n" not in str(caught.value)


@pytest.mark.model
def test_vectors_are_float32_and_near_for_near_meanings() -> None:
    texts = ["key, is in, locker", "the locker contains a key", "soup, needs, carrot"]
    vectors = embedder().embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 384)
    assert embedder().embed([]).shape == (0, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


@pytest.mark.model
def test_a_text_gives_the_same_bytes_alone_and_in_any_company() -> None:
    generator = random.Random(3)
    texts = [" ".join(generator.choices(WORDS, k=generator.randint(1, 12))) for _ in range(60)]
    texts += ["", "x" * 3000, "You are in the kitchen. " * 100]
    alone, together = embedder(), embedder()
    one_by_one = np.stack([alone.embed([text])[0] for text in texts])
    assert together.embed(texts).tobytes() == one_by_one.tobytes()


@pytest.mark.model
def test_batches_change_the_last_bits_alone() -> None:
    texts = [" ".join(WORDS[:length]) for length in range(1, len(WORDS) + 1)]
    batched = SentenceTransformerEmbedder(minilm(), NAME, 0.5, batch_size=32)
    assert np.allclose(batched.embed(texts), embedder().embed(texts), atol=1e-6)


def test_a_batch_of_nothing_is_refused(tmp_path: Path) -> None:
    for required in ("modules.json", "config.json"):
        (tmp_path / required).touch()
    with pytest.raises(UsageError, match="batch size 0: it must be at least 1"):
        SentenceTransformerEmbedder(tmp_path, NAME, 0.5, batch_size=0)
