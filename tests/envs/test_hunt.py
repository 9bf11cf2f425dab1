from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

import pytest

from arigraph_local.envs.compiling import check_names
from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import TrueFact
from arigraph_local.envs.games import GameFiles, make_game
from arigraph_local.envs.hunt import HuntFamily, draw_plan, published_goal
from arigraph_local.envs.hunt_definition import HuntDefinition, room_names
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.errors import GameError, UsageError
from arigraph_local.resources import data_folder

DEFINITION = read_definition(data_folder("envs") / "hunt.toml", HuntDefinition)
MAX_SCORES = {"easy": 6, "standard": 7, "hard": 8}
SEEDS = 3


@pytest.fixture(scope="module")
def nine(games_folder: Path) -> dict[str, GameFiles]:
    """Three seeds at each level up to hard, made by two processes. Making a game checks it:
    see `test_checking`."""
    names = [f"hunt:{level}@{seed}" for level in MAX_SCORES for seed in range(SEEDS)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool:
        made = pool.map(make_game, names, [games_folder] * len(names))
        return dict(zip(names, made, strict=True))


@pytest.mark.parametrize("level", MAX_SCORES)
def test_every_seed_has_its_own_game_with_a_walkthrough(
    nine: dict[str, GameFiles], level: str
) -> None:
    games = [nine[f"hunt:{level}@{seed}"] for seed in range(SEEDS)]
    assert {files.max_score for files in games} == {MAX_SCORES[level]}
    assert len({files.digest for files in games}) == SEEDS
    for files in games:
        assert files.walkthrough[-1] == "take treasure from golden locker"
        assert len(files.walkthrough) <= 0.8 * files.step_limit


def test_notes_lead_to_the_treasure(easy: GameFiles) -> None:
    """An agent that only follows notes, never the walkthrough, knows each next locker."""
    game = TextWorldEnvironment(easy.story)
    observation = game.reset()
    opened = []
    for command in easy.walkthrough:
        if command.startswith("unlock "):
            opened.append(command)
        for note in (action for action in observation.valid_actions if "examine note" in action):
            key, locker = re.findall(r"note says: (.+) opens the (.+)\.", game.step(note).text)[0]
            assert f"unlock {locker} with {key}" in easy.walkthrough
        observation = game.step(command)
    game.close()
    assert len(opened) == 3
    assert opened[-1] == "unlock golden locker with golden key"


def test_lockers_outside_the_chain_have_no_key(environment: TextWorldEnvironment) -> None:
    environment.reset()
    facts = environment.true_facts()
    locked = {fact.arguments[0] for fact in facts if fact.predicate == "locked"}
    matched = {fact.arguments[1] for fact in facts if fact.predicate == "match"}
    assert (len(locked), len(matched)) == (6, 3)
    assert matched < locked


def test_a_locked_locker_says_so(environment: TextWorldEnvironment) -> None:
    first = environment.reset()
    locker = next(action for action in first.valid_actions if action.endswith("locker"))
    assert environment.step(locker).text.endswith("locker is locked.")


def test_hardest_is_made_and_won(games_folder: Path) -> None:
    files = make_game("hunt:hardest@1", games_folder)
    assert files.max_score == 10
    facts = files.facts.read_text()
    assert all(f'"{name}"' in facts for name in ("Room A1", "Room D9", "golden locker"))


@pytest.mark.parametrize("level", DEFINITION.levels)
def test_plans_are_sound_at_every_level(level: str) -> None:
    parameters = DEFINITION.levels[level]
    for seed in range(100):
        plan = draw_plan(DEFINITION, parameters, Random(f"hunt:{level}@{seed}"))
        lockers = len(plan.locker_rooms)
        assert lockers == len(set(plan.locker_rooms.values()))
        assert lockers == parameters.chain + parameters.decoys
        assert len(plan.map.connections) == parameters.rooms - 1 + parameters.cycles
        assert plan.first_key_room != plan.locker_rooms[plan.chain[0]]
        check_names([*plan.rooms, *plan.locker_rooms, *plan.keys, *plan.item_rooms, "treasure"])
        check_names([*plan.notes(), "treasure"])


def test_same_seed_same_bytes_in_another_process(games_folder: Path, tmp_path: Path) -> None:
    here = make_game("hunt:easy@3", games_folder)
    script = (
        "import sys; from pathlib import Path; from arigraph_local.envs.games import make_game;"
        "print(make_game('hunt:easy@3', Path(sys.argv[1])).story)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "TZ": "Pacific/Kiritimati"}
    output = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    there = Path(output.strip())
    assert {file.name: file.read_bytes() for file in there.parent.iterdir()} == {
        file.name: file.read_bytes() for file in here.story.parent.iterdir()
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Purple locker"], "'Purple locker' cannot be used"),
        (["Iron key"], "'Iron key' cannot be used"),
        (["r_1 room"], "'r_1 room' cannot be used"),
        ([" "], "cannot be used"),
        (["key 10", "key 1"], "'key 1' and 'key 10' cannot be told apart"),
        (["tomato", "Tomato"], "cannot be told apart"),
    ],
)
def test_names_a_game_cannot_keep_apart(names: list[str], message: str) -> None:
    with pytest.raises(GameError, match=message):
        check_names(names)


@pytest.mark.parametrize("count", [1, 26, 27, 36, 26 * 9])
def test_room_names_can_be_told_apart(count: int) -> None:
    names = room_names(count)
    assert len(names) == count
    check_names(names)


def test_the_published_key_is_told_and_other_games_have_no_such_goal() -> None:
    facts = [
        TrueFact("in", ("treasure", "golden locker")),
        TrueFact("at", ("key 1", "room a")),
        TrueFact("match", ("key 1", "white locker")),
        TrueFact("match", ("key 2", "red locker")),
    ]
    goal = published_goal(facts)
    assert goal is not None
    assert "Key 1, in room a, opens the white locker." in goal
    assert "red" not in goal
    assert published_goal(facts[1:]) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rooms = 6", "rooms = 5", "levels.easy.*6 lockers do not fit in 5 rooms"),
        ("rooms = 6", "rooms = 'six'", "levels.easy.rooms: Input should be a valid integer"),
        ("rooms = 6", "room = 6", "levels.easy"),
        ("rooms = 6", "rooms = ", "not valid TOML"),
        ('"red",', '"Red",', "colours.0"),
        ('first_key = "start"', 'first_key = "here"', "first_key"),
    ],
)
def test_a_bad_definition_names_file_and_field(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (data_folder("envs") / "hunt.toml").read_text()
    assert old in text
    path = tmp_path / "hunt.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=message) as caught:
        HuntFamily(path).levels()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_level_that_cannot_be_solved_in_time(tmp_path: Path) -> None:
    level = DEFINITION.levels["hard"].model_copy(update={"step_limit": 20})
    with pytest.raises(GameError, match="limit of 20 steps"):
        draw_plan(DEFINITION, level, Random(0))
