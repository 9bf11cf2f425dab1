from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arigraph_local.cli import play as play_module
from arigraph_local.cli.app import run
from arigraph_local.cli.engine_options import engine_values
from arigraph_local.config import RunConfig


def played(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> RunConfig:
    """The config with which `arigraph play` would begin."""
    begun: list[RunConfig] = []

    def begin(config: RunConfig, *_: Any, **__: Any) -> None:
        begun.append(config)

    monkeypatch.setattr(play_module, "begin", begin)
    assert run(["play", "hunt:easy", *arguments]) == 0
    return begun[0]


def test_options_become_settings_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = played(
        monkeypatch,
        *("--engine", "throughput", "--kv-type", "q8_0", "--flash-attention", "on"),
        *("--lora", "a.gguf:0.5", "--lora", "/b.gguf", "--threads", "2", "--gpu-layers", "-1"),
        *("--context", "512", "--response-cache", "replies"),
    ).engine
    assert (engine.mode, engine.kv_type, engine.flash_attention) == ("throughput", "q8_0", "on")
    assert [(lora.path, lora.scale) for lora in engine.lora] == [
        (Path("a.gguf").absolute(), 0.5),
        (Path("/b.gguf"), 1.0),
    ]
    assert (engine.threads, engine.gpu_layers, engine.context) == (2, -1, 512)
    assert engine.response_cache == Path("replies").absolute()


def test_an_address_is_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = played(monkeypatch, "--engine", "http://box:8080").engine
    assert (engine.server, engine.mode) == ("http://box:8080", "reproducible")


def test_what_is_not_given_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_values(threads=None) == {}
    assert played(monkeypatch).engine == RunConfig(game="x").engine


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--engine", "turbo"],
            "--engine turbo: neither reproducible nor throughput nor an address",
        ),
        (["--engine", "ftp://box"], "http://HOST:PORT"),
        (["--kv-type", "q9"], "key 'engine.kv_type'"),
        (["--kv-type", "q8_0", "--flash-attention", "off"], "needs flash attention"),
        (["--engine", "http://box", "--threads", "2"], "where the server runs"),
        (["--lora", "a.gguf:inf"], "finite"),
    ],
)
def test_a_wrong_option_is_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["play", "hunt:easy", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert expected in error
