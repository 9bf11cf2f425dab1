from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.envs import games
from arigraph_local.envs.family import BuiltGame
from arigraph_local.envs.games import GameFiles, GameName, make_game, parse_game_name
from arigraph_local.errors import GameError, UsageError


def test_names_are_read() -> None:
    assert parse_game_name("hunt:standard@1") == GameName("hunt", "standard", 1)
    assert parse_game_name("hunt:standard") == GameName("hunt", "standard", 0)
    assert str(parse_game_name("hunt:hard@007")) == "hunt:hard@7"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hunt", "'hunt' needs a level: one of hunt:easy, hunt:standard"),
        ("hnt:standard", "unknown game family 'hnt': did you mean hunt"),
        ("hunt:standrd", "unknown level of hunt 'standrd': did you mean standard"),
        ("hunt:standard@", "the seed must be a whole number from 0 to 2147483647"),
        ("hunt:standard@-1", "the seed must be"),
        ("hunt:standard@1.5", "the seed must be"),
        ("hunt:standard@2147483648", "the seed must be"),
        ("hunt:standard@١", "the seed must be"),
        ("", "is not a game"),
        ("some/game.z9", "is not a game"),
        ("some/game", "is not a game"),
    ],
)
def test_a_bad_name_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_game_name(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="hunt:easy@01 \n", max_size=15))
def test_any_text_is_a_name_or_an_error(text: str) -> None:
    try:
        name = parse_game_name(text)
    except UsageError:
        return
    assert parse_game_name(str(name)) == name


def test_a_made_game_is_found_again(easy: GameFiles, games_folder: Path) -> None:
    before = easy.story.stat().st_mtime_ns
    assert make_game("hunt:easy@3", games_folder) == easy
    assert easy.story.stat().st_mtime_ns == before
    assert sorted(file.suffix for file in easy.story.parent.iterdir()) == [".json", ".json", ".z8"]


def test_the_environment_variable_chooses_the_folder(easy: GameFiles, games_folder: Path) -> None:
    assert make_game("hunt:easy@3") == easy
    assert games_folder in easy.story.parents


@pytest.fixture
def quick_build(easy: GameFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Building `hunt:easy@3` copies it."""

    def copy(level: str, seed: int, story: Path) -> BuiltGame:
        story.write_bytes(easy.story.read_bytes())
        story.with_suffix(".json").write_bytes(easy.facts.read_bytes())
        return BuiltGame(easy.walkthrough, easy.max_score, easy.goal, easy.step_limit)

    monkeypatch.setattr(games.FAMILIES["hunt"], "build", copy)


@pytest.mark.usefixtures("quick_build")
@pytest.mark.parametrize("damage", ["truncate", "remove", "record"])
def test_a_damaged_game_is_made_anew(tmp_path: Path, easy: GameFiles, damage: str) -> None:
    made = make_game("hunt:easy@3", tmp_path)
    if damage == "truncate":
        made.story.write_bytes(made.story.read_bytes()[:1000])
    elif damage == "remove":
        made.facts.unlink()
    else:
        (made.story.parent / "made.json").write_text("{")
    assert make_game("hunt:easy@3", tmp_path).digest == easy.digest
    assert [entry.name for entry in tmp_path.iterdir()] == [made.story.parent.name]


def test_a_failed_game_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(level: str, seed: int, story: Path) -> BuiltGame:
        story.write_bytes(b"half a game")
        raise GameError("no such luck")

    monkeypatch.setattr(games.FAMILIES["hunt"], "build", fail)
    with pytest.raises(GameError, match="no such luck"):
        make_game("hunt:easy@9", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick_build")
def test_two_makers_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: make_game("hunt:easy@3", tmp_path), range(8)))
    assert len(set(made)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [made[0].story.parent.name]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(GameError, match="cannot make games in") as caught:
        make_game("hunt:easy@3", file / "games")
    assert "\n" not in str(caught.value)


def test_a_changed_definition_is_another_game(monkeypatch: pytest.MonkeyPatch) -> None:
    name = parse_game_name("hunt:easy@3")
    before = games._key(name)
    monkeypatch.setattr(games, "BUILDER_VERSION", games.BUILDER_VERSION + 1)
    assert games._key(name) != before


def test_nothing_heavy_is_imported_to_name_a_game() -> None:
    script = (
        "import sys; from arigraph_local.envs.games import FAMILIES, parse_game_name;"
        "parse_game_name('hunt:hard@2'); FAMILIES['hunt'].levels();"
        "print([name for name in ('textworld', 'jericho', 'numpy') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    ).stdout
    assert output.strip() == "[]"
