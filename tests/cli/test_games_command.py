from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arigraph_local.cli.games import games_app
from arigraph_local.errors import UsageError

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made-games")


@pytest.fixture(autouse=True)
def _cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARIGRAPH_GAMES", str(folder))


def test_list_shows_every_level() -> None:
    result = runner.invoke(games_app, ["list"])
    assert result.exit_code == 0
    rows = [line.split()[:4] for line in result.stdout.splitlines()]
    assert ["hunt:standard", "12", "7", "150"] in rows
    assert ["hunt:hardest", "36", "10", "150"] in rows


def test_list_as_json() -> None:
    record = json.loads(runner.invoke(games_app, ["list", "--json"]).stdout)
    hunt = next(family for family in record["families"] if family["family"] == "hunt")
    levels = {level["level"]: level for level in hunt["levels"]}
    assert list(levels) == ["easy", "standard", "hard", "hardest"]
    assert levels["hard"] | {"description": ""} == {
        "level": "hard",
        "rooms": 16,
        "max_score": 8,
        "step_limit": 150,
        "description": "",
    }


def test_make_prints_path_score_and_walkthrough(folder: Path) -> None:
    out = folder / "out"
    result = runner.invoke(games_app, ["make", "hunt:easy@5", "--out", str(out)])
    assert result.exit_code == 0, result.exception
    (story,) = out.rglob("*.z8")
    line = result.stdout.strip()
    assert line.startswith("hunt:easy@5: max score 6, walkthrough ")
    assert line.endswith(str(story))


def test_make_several_seeds_shows_progress_and_json(folder: Path) -> None:
    result = runner.invoke(games_app, ["make", "hunt:easy", "--seeds", "3-4"])
    lines = result.stdout.splitlines()
    assert [line.split(" max")[0] for line in lines] == [
        "[1/2] hunt:easy@3:",
        "[2/2] hunt:easy@4:",
    ]
    record = json.loads(
        runner.invoke(games_app, ["make", "hunt:easy", "--seeds", "3-4", "--json"]).stdout
    )
    assert [game["name"] for game in record["games"]] == ["hunt:easy@3", "hunt:easy@4"]
    assert all(Path(game["story"]).is_file() for game in record["games"])


def test_describe_a_game_and_a_family() -> None:
    text = runner.invoke(games_app, ["describe", "hunt:easy@3", "--walkthrough"]).stdout
    assert "Goal: Find the treasure" in text
    assert "-= Room A =-" in text
    assert "\nunlock golden locker with golden key\n" in text
    record = json.loads(runner.invoke(games_app, ["describe", "hunt:easy@3", "--json"]).stdout)
    assert record["max_score"] == 6
    assert "walkthrough" not in record
    family = runner.invoke(games_app, ["describe", "hunt"]).stdout
    assert "hunt:hard: 16 rooms" in family


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "hunt:easi"], "did you mean easy"),
        (["make", "hunt:easy@1", "--seeds", "1-2"], "has a seed already"),
        (["make", "hunt:easy", "--seeds", "2-1"], "ends before it begins"),
        (["make", "hunt:easy", "--seeds", "a"], "must be a number or a range"),
        (["make", "hunt:easy", "--seeds", "0-999999"], "more than 10000 games"),
        (["describe", "hunt:easy@x"], "the seed must be a whole number"),
        (["describe", "nothing"], "is not a game"),
    ],
)
def test_bad_requests_are_usage_errors(arguments: list[str], message: str) -> None:
    result = runner.invoke(games_app, arguments)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


def test_a_bad_name_among_several_stops_before_the_first_is_made(tmp_path: Path) -> None:
    result = runner.invoke(
        games_app, ["make", "hunt:easy@3", "hunt:impossible", "--out", str(tmp_path)]
    )
    assert isinstance(result.exception, UsageError)
    assert list(tmp_path.iterdir()) == []
