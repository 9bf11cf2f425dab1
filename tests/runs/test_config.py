"""Configs from TOML, and errors that name file, line and key."""

from pathlib import Path

import pytest

from arigraph_local.config import NO_MODEL, RunConfig, config_toml, make_config, read_config
from arigraph_local.errors import UsageError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_a_config_survives_its_own_file(tmp_path: Path) -> None:
    config = make_config({"game": "hunt:easy@3", "memory.width": 4, "engine.threads": 2})
    assert read_config(write(tmp_path, config_toml(config))) == config
    assert config.memory.width == 4


def test_options_override_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'game = "hunt:easy"\n[agent]\nsteps = 3\nhistory = 2\n')
    config = read_config(path, {"agent.steps": 9, "model": "x"})
    assert (config.agent.steps, config.agent.history, config.model) == (9, 2, "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('game = "g"\n\n[memory]\nwidht = 3\n', "4: key 'memory.widht': unknown key"),
        ('game = "g"\n[memory]\ndepth = "two"\n', "3: key 'memory.depth'"),
        ('game = "g"\nmemory.depth = 0\n', "2: key 'memory.depth'"),
        ('model = "m"\n', "1: key 'game': Field required"),
        ('game = "g"\n[agent\n', "not valid TOML"),
        ('game = "g"\nengine = 3\n', "2: key 'engine'"),
    ],
)
def test_a_fault_is_named_with_file_line_and_key(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_config(path)
    assert str(path) in str(caught.value)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_or_binary_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path / "none.toml")
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_config(binary)


def test_a_player_without_a_model_has_none_in_its_config(tmp_path: Path) -> None:
    config = make_config({"game": "hunt:easy", "player": "random"})
    assert (config.model, config.embedder, config.needs_model) == (NO_MODEL, NO_MODEL, False)
    assert read_config(write(tmp_path, config_toml(config))) == config
    assert make_config({"game": "g", "player": "human", "show_graph": True}).needs_model


def test_a_model_beside_a_player_that_uses_none_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'game = "g"\nmodel = "large"\n')
    with pytest.raises(UsageError, match=r"run\.toml:2: key 'model': the player oracle uses none"):
        read_config(path, {"player": "oracle"})


def test_the_defaults_are_the_papers() -> None:
    config = RunConfig(game="hunt:standard")
    assert (config.agent.history, config.agent.temperature) == (5, 0.2)
    assert (config.memory.episodes, config.memory.width) == (2, 6)
