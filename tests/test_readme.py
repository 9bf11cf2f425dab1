"""The README says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arigraph_local.cli.app import run
from arigraph_local.config import RunConfig, read_config

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_OURS = {"--check"}


def help_of(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert run([*command, "--help"]) == 0
    return capsys.readouterr().out


def test_every_option_it_names_exists(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = "".join(
        help_of(capsys, *command)
        for command in (
            [],
            ["play"],
            ["demo"],
            ["games", "make"],
            ["models", "fetch"],
            ["bench", "engine"],
            ["score"],
        )
    )
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - NOT_OURS
    assert {option for option in named if option not in shown} == set()


def test_every_command_it_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    for row in re.findall(r"^\| `arigraph ([^`]+)`", README, re.MULTILINE):
        words = row.replace("\\|", "|").split()
        for name in words[1].split("|") if len(words) > 1 and "|" in words[1] else [""]:
            command = [words[0], name] if name else [words[0]]
            assert "Usage" in help_of(capsys, *command)


def test_its_config_is_valid_and_shows_the_defaults(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert text is not None
    path = tmp_path / "run.toml"
    path.write_text(text[1])
    config, default = read_config(path), RunConfig(game="x")
    assert config.memory == default.memory
    assert config.agent.model_copy(update={"steps": None}) == default.agent


def test_every_path_it_names_exists() -> None:
    for path in re.findall(
        r"`((?:scripts|models|envs|prompts|arigraph_local|\.ci)/[^` ]*)[^`]*`", README
    ):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"`((?:memory|agent|llm)/[\w/]+\.py)`", README):
        assert (ROOT / "arigraph_local" / module).is_file(), module
