from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from arigraph_local.config import config_toml, make_config, read_config
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.model_options import Adapter, ModelOptions
from arigraph_local.llm.loading import cache_variant
from arigraph_local.llm.settings import EngineSettings


def settings(**values: Any) -> EngineSettings:
    return EngineSettings.model_validate(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kv_type": "q8_0", "flash_attention": "off"}, "kv_type q8_0 needs flash attention"),
        ({"n_batch": 64, "n_ubatch": 128}, "n_ubatch 128 is more than n_batch 64"),
        ({"server": "box:8080"}, "http://HOST:PORT"),
        ({"server": "http://box:port"}, "http://HOST:PORT"),
        ({"server": "http://"}, "http://HOST:PORT"),
        ({"server": "http://me:secret@box"}, "ARIGRAPH_API_KEY"),
        ({"server": "http://box", "threads": 2}, "threads is set where the server runs"),
        ({"server": "http://box", "lora": ["a.gguf"]}, "lora is set where the server runs"),
        ({"server": "http://box", "chat_format": "plain"}, "chat_format is set where the server"),
        ({"kv_type": "q9"}, "kv_type"),
        ({"lora": "a.gguf"}, "lora"),
        ({"lora": [{"path": "a.gguf", "weight": 2}]}, "weight"),
        ({"lora": ["a.gguf:nan"]}, "finite"),
        ({"reply_seconds": float("inf")}, "finite"),
    ],
)
def test_what_does_not_fit_together_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        settings(**values)
    assert message in str(caught.value)


def test_quantised_caches_go_with_flash_attention() -> None:
    for flash in ("auto", "on"):
        assert settings(kv_type="q4_0", flash_attention=flash).context_options == ContextOptions(
            512, 512, flash, "q4_0"
        )
    assert settings(kv_type="bf16", flash_attention="off").context_options.kv_bits == 16


@pytest.mark.parametrize(
    ("given", "path", "scale"),
    [
        ("a.gguf", "a.gguf", 1.0),
        ("a.gguf:0.5", "a.gguf", 0.5),
        ("a:b.gguf", "a:b.gguf", 1.0),
        ("a:b.gguf:-2", "a:b.gguf", -2.0),
        ({"path": "a.gguf", "scale": 3}, "a.gguf", 3.0),
    ],
)
def test_an_adapter_is_a_path_perhaps_with_a_scale(given: Any, path: str, scale: float) -> None:
    assert settings(lora=[given]).model_options == ModelOptions(
        adapters=(Adapter(Path(path), scale),)
    )


def test_settings_survive_the_run_config(tmp_path: Path) -> None:
    values = {
        "game": "x",
        "engine.lora": ["a.gguf:0.5"],
        "engine.kv_type": "q8_0",
        "engine.response_cache": str(tmp_path / "cache"),
        "engine.mlock": True,
    }
    config = make_config(values)
    (tmp_path / "config.toml").write_text(config_toml(config))
    assert read_config(tmp_path / "config.toml") == config
    served = make_config({"game": "x", "engine.server": "https://box:8080/"})
    (tmp_path / "config.toml").write_text(config_toml(served))
    assert read_config(tmp_path / "config.toml") == served
    assert served.engine.server == "https://box:8080"


def test_cached_replies_depend_on_how_the_model_runs_but_not_on_where_it_lies() -> None:
    default = cache_variant(settings())
    assert cache_variant(settings(kv_type="q8_0")) != default
    assert cache_variant(settings(mode="throughput")) != default
    assert cache_variant(settings(chat_format="plain")) != default
    assert cache_variant(settings(mlock=True, reply_seconds=3, threads=2)) == default
