from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_stories import compile_hall

from arigraph_local.envs.games import GameFiles
from arigraph_local.envs.opening import open_game
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.errors import GameError, UsageError

SCRIPT = """
import json, sys
from arigraph_local.envs.opening import open_game
from arigraph_local.envs.process_environment import ProcessEnvironment
game = open_game("hunt:easy@3")
first = game.environment.reset()
record = {
    "location": first.location,
    "after": game.environment.step("look").text == first.text,
    "goal": game.environment.goal,
    "game": [game.name, game.digest, str(game.story), game.step_limit, game.family],
    "walkthrough": game.walkthrough,
    "imported": [name for name in ("textworld", "jericho") if name in sys.modules],
}
print(json.dumps(record))
"""


def test_a_game_is_opened_by_name_and_played_elsewhere(easy: GameFiles) -> None:
    """In a script without a main guard, into whose process no interpreter is loaded."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "location": "room a",
        "after": True,
        "goal": easy.goal,
        "game": [easy.name, easy.digest, str(easy.story), easy.step_limit, "hunt"],
        "walkthrough": list(easy.walkthrough),
        "imported": [],
    }


def test_a_textworld_game_is_opened_by_path(easy: GameFiles, tmp_path: Path) -> None:
    story = Path(shutil.copy(easy.story, tmp_path / "my game.z8"))
    shutil.copy(easy.facts, tmp_path / "my game.json")
    game = open_game(str(story))
    first = game.environment.reset()
    game.environment.close()
    assert (game.name, game.family, game.story) == ("my game", "hunt", story)
    assert game.digest == easy.digest
    assert first.max_score == easy.max_score


def test_a_relative_path_outlives_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_hall(tmp_path / "game.z5", 5)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    game = open_game("game.z5")
    assert isinstance(game.environment, ProcessEnvironment)
    game.environment.reset()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert game.environment.process_id is not None
    os.kill(game.environment.process_id, 9)
    assert game.environment.step("north").location == "cave"
    game.environment.close()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.z8", None, "there is no game"),
        ("absent.ulx", None, "there is no game"),
        ("game.ulx", b"Glul" + bytes(100), "is a Glulx game, which TextWorld no longer plays"),
        ("game.ulx", b"text", "is not a Z-machine story file"),
        ("game.z5", b"", "is not a Z-machine story file"),
        ("game.zblorb", b"FORM\0\0\0\4IFRS", "holds no Z-machine game"),
        ("game.gblorb", b"FORM\0\0\0\14IFRSGLUL\0\0\0\0", "holds a Glulx game"),
    ],
)
def test_a_bad_story_file_is_one_clear_line(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GameError, match=message) as caught:
        open_game(str(path))
    assert "\n" not in str(caught.value)


def test_glulx_is_refused_beside_its_description_too(tmp_path: Path) -> None:
    (tmp_path / "game.json").write_text("{}")
    (tmp_path / "game.ulx").write_bytes(b"Glul" + bytes(100))
    with pytest.raises(GameError, match=r"make it as a \.z8"):
        open_game(str(tmp_path / "game.ulx"))


def test_a_bad_name_makes_nothing() -> None:
    with pytest.raises(UsageError, match="did you mean hunt"):
        open_game("hnt:easy")
