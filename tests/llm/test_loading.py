from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from small_model import model_path

from arigraph_local.errors import ArigraphError, ModelFileError, UsageError
from arigraph_local.llm import loading
from arigraph_local.llm.engine import Completion, Limits, Message, Request
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.llama.llama_model import LlamaModel
from arigraph_local.llm.llama.memory_need import Memory
from arigraph_local.llm.llama.model_options import Adapter, ModelOptions
from arigraph_local.llm.loading import load_engine
from arigraph_local.llm.settings import EngineSettings, LoraSettings

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"
IN, OUT, RANK = 1536, 576, 4
REQUEST = Request("act", "agent", (Message("user", "Name a fruit."),), Limits(6))


@pytest.fixture(autouse=True)
def _model_is_there() -> None:
    model_path()


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def _pair(key: str, value: str | float) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", 8) + _text(value)
    return _text(key) + struct.pack("<If", 6, value)


def write_adapter(path: Path, *, architecture: str = "llama", size: float = 3.0) -> Path:
    """A LoRA adapter for the last feed-forward layer of the small model, of random weights."""
    random = np.random.default_rng(1)
    parts = {
        "lora_a": random.normal(0, size, (RANK, IN)).astype(np.float32),
        "lora_b": random.normal(0, size, (OUT, RANK)).astype(np.float32),
    }
    pairs = [
        _pair("general.type", "adapter"),
        _pair("general.architecture", architecture),
        _pair("adapter.type", "lora"),
        _pair("adapter.lora.alpha", float(RANK)),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(pairs)) + b"".join(pairs)
    data = b""
    for name, values in parts.items():
        rows, columns = values.shape
        head += _text(f"blk.29.ffn_down.weight.{name}")
        head += struct.pack("<IQQIQ", 2, columns, rows, 0, len(data))
        data += values.tobytes()
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


def reply(*adapters: Adapter) -> Completion:
    lora = tuple(LoraSettings(path=adapter.path, scale=adapter.scale) for adapter in adapters)
    engine = load_engine(MODEL, EngineSettings(context=256, lora=lora))
    try:
        return engine.generate([REQUEST])[0]
    finally:
        engine.close()


def test_an_adapter_changes_replies_as_far_as_its_scale_says(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "tuned.gguf")
    plain = reply().text
    assert reply(Adapter(adapter)).text != plain
    both = reply(Adapter(adapter), Adapter(adapter, -1.0))
    assert both.text == plain


def test_adapters_are_part_of_the_models_identity(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "tuned.gguf")
    lora = (LoraSettings(path=adapter, scale=0.5),)
    engine = load_engine(MODEL, EngineSettings(context=256, lora=lora))
    assert " + tuned x0.5 sha256:" in engine.model_id
    engine.close()


def test_a_file_that_is_no_adapter_for_the_model_is_named(tmp_path: Path) -> None:
    model = locate(MODEL, models_folder()).path
    other = write_adapter(tmp_path / "other.gguf", architecture="mamba")
    for adapter, message in (
        (tmp_path / "absent.gguf", r"absent\.gguf: no such file"),
        (model, r"\.gguf is no LoRA adapter: general\.type is"),
        (other, r"other\.gguf does not fit small: "),
    ):
        with pytest.raises(ModelFileError, match=message):
            LlamaModel(model, name="small", options=ModelOptions(adapters=(Adapter(adapter),)))


@pytest.mark.parametrize(("mmap", "mlock"), [(True, False), (False, False), (True, True)])
def test_weights_load_the_same_however_they_are_read(mmap: bool, mlock: bool) -> None:
    path = locate(MODEL, models_folder()).path
    model = LlamaModel(path, name="small", options=ModelOptions(mmap=mmap, mlock=mlock))
    assert model.vocab_size == 49152
    model.check_unchanged()
    model.free()


def test_a_context_that_cannot_fit_is_refused_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "memory_here", lambda: Memory(2 * 10**8, 10**9))
    with pytest.raises(ArigraphError, match=r"no memory for smollm2-135m: it needs .* of context"):
        load_engine(MODEL, EngineSettings(context=8192, episodes=4))


def test_a_cache_of_eight_bits_and_small_batches_still_answers() -> None:
    settings = EngineSettings(
        context=256, kv_type="q8_0", flash_attention="on", n_batch=64, n_ubatch=32
    )
    engine = load_engine(MODEL, settings)
    assert engine.generate([REQUEST])[0].text
    engine.close()


def test_a_response_cache_answers_the_same_at_once(tmp_path: Path) -> None:
    settings = EngineSettings(context=256, response_cache=tmp_path / "cache")
    engine = load_engine(MODEL, settings)
    [first] = engine.generate([REQUEST])
    engine.close()
    engine = load_engine(MODEL, settings)
    [again] = engine.generate([REQUEST])
    engine.close()
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, again.prompt, again.chunks) == (first.text, first.prompt, first.chunks)


def test_a_cache_folder_that_cannot_be_used_leaves_no_engine_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="response cache"):
        load_engine(MODEL, EngineSettings(context=256, response_cache=tmp_path / "file/x"))
