"""`arigraph bench engine` with a model of made-up speed, and `play` taking what it kept."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from arigraph_local.cli import session
from arigraph_local.cli.app import run
from arigraph_local.config import RunConfig, config_toml, make_config
from arigraph_local.llm.files import catalogue
from arigraph_local.llm.llama import loaded_model, speed
from arigraph_local.llm.llama.speed import Choice, Speed
from arigraph_local.llm.settings import EngineSettings
from arigraph_local.llm.tuned import Tuned, save_tuned, this_machine, with_tuned


@pytest.fixture
def _made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measure(_: object, choice: Choice) -> Speed:
        rate = 2.0 if choice.n_ubatch == 128 else 1.0
        return Speed(100 * rate, 10 * rate, 40 * rate)

    located = SimpleNamespace(path=tmp_path / "tiny.gguf", name="tiny")
    monkeypatch.setattr(catalogue, "locate", lambda *_: located)
    loaded = SimpleNamespace(free=lambda: None)
    monkeypatch.setattr(loaded_model.LoadedModel, "load", lambda *_, **__: loaded)
    monkeypatch.setattr(speed, "speed_of", measure)


@pytest.mark.usefixtures("_made_up")
def test_the_fastest_is_said_and_kept_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["bench", "engine", "--model", "tiny", "--models-dir", str(tmp_path), "--json"]
    assert run([*arguments, "--pairs", "2"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["fastest"]["n_ubatch"] == 128
    assert found["fastest"]["ratio"] == 2.0
    assert "fastest against default" in captured.err
    assert list(tmp_path.iterdir()) == []
    assert run([*arguments, "--save"]) == 0
    assert with_tuned(EngineSettings(), "tiny", tmp_path).n_ubatch == 128


@pytest.mark.usefixtures("_made_up")
def test_a_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "engine", "--models-dir", str(tmp_path), "--pairs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tiny on ")
    assert any("n_ubatch 128" in line and line.endswith("ratio 2.00") for line in lines)


def test_pairs_below_one_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "engine", "--pairs", "0"]) == 2
    assert "--pairs" in capsys.readouterr().err


def test_play_takes_and_writes_down_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[RunConfig] = []
    monkeypatch.setattr(
        session, "play_session", lambda _, config, *__, **___: played.append(config)
    )
    here = Tuned(
        machine=this_machine(), model="tiny", threads=3, flash_attention="off", n_ubatch=128
    )
    save_tuned(tmp_path, here)
    arguments = ["play", "hunt:easy", "--model", "tiny", "--models-dir", str(tmp_path)]
    assert run([*arguments, "--threads", "2", "--out", str(tmp_path / "run")]) == 0
    engine = make_config(tomllib.loads(config_toml(played[0]))).engine
    assert (engine.threads, engine.flash_attention, engine.n_ubatch) == (2, "off", 128)
