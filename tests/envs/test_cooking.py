from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from arigraph_local.envs.compiling import compile_game
from arigraph_local.envs.cooking import CookingFamily
from arigraph_local.envs.cooking_definition import CookingDefinition, CookingLevel
from arigraph_local.envs.cooking_oracle import CookingOracle, Ingredient, recipe
from arigraph_local.envs.cooking_world import make_world
from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.envs.games import make_game
from arigraph_local.envs.opening import play_story
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.errors import GameError, UsageError
from arigraph_local.resources import data_folder

DEFINITION = read_definition(data_folder("envs") / "cooking.toml", CookingDefinition)
MAX_SCORES = {
    "rl-1": 4,
    "rl-2": 5,
    "rl-3": 3,
    "rl-4": 11,
    "small": 11,
    "standard": 11,
    "hard": 14,
    "hardest": 17,
}
PUBLISHED = {
    "cook_rl_baseline": ("small", 44732),
    "cook": ("standard", 10318),
    "cook_hard": ("hard", 34954),
    "cook_hardest": ("hardest", 37162),
}
HARMLESS = {"go", "open", "close", "take", "drop", "put", "insert", "examine"}


class InMemory:
    """A game played without its interpreter: by TextWorld's own rules, without text."""

    def __init__(self, game: Any, folder: Path) -> None:
        import textworld

        file = folder / "game.json"
        file.write_text(json.dumps(game.serialize()))
        wanted = textworld.EnvInfos(facts=True, admissible_commands=True)
        self._game: Any = textworld.start(str(file), wanted)
        self._state: Any = None

    def reset(self) -> Observation:
        self._state = self._game.reset()
        return self._observe()

    def step(self, command: str) -> Observation:
        self._state = self._game.step(command)[0]
        return self._observe()

    def true_facts(self) -> frozenset[TrueFact]:
        return frozenset(
            TrueFact(fact.name, tuple(argument.name.lower() for argument in fact.arguments))
            for fact in self._state["facts"]
        )

    def _observe(self) -> Observation:
        state = self._state
        return Observation(
            text="",
            inventory="",
            location=None,
            valid_actions=tuple(state["admissible_commands"]),
            score=int(state.get("score") or 0),
            max_score=0,
            done=state["won"] or state["lost"],
            won=state["won"],
        )


def _play(
    game: InMemory | TextWorldEnvironment, observation: Observation, most: int = 150
) -> tuple[Observation, list[str]]:
    """Follow the oracle to the end."""
    oracle = CookingOracle()
    commands: list[str] = []
    while (action := oracle.next_action(game.true_facts(), observation)) is not None:
        assert action in observation.valid_actions
        assert len(commands) < most
        commands.append(action)
        observation = game.step(action)
    return observation, commands


def _made(level: CookingLevel, seed: int) -> Any:
    return make_world(level, DEFINITION.objective(level), seed)


def _facts(game: dict[str, Any]) -> set[str]:
    return {json.dumps(fact, sort_keys=True) for fact in game["world"]}


def test_there_is_a_level_for_each_maximum() -> None:
    levels = CookingFamily().levels()
    assert {name: level.max_score for name, level in levels.items()} == MAX_SCORES


@pytest.mark.parametrize("level", MAX_SCORES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_oracle_wins_every_point_whatever_was_done_before(
    level: str, seed: int, tmp_path: Path
) -> None:
    game = InMemory(_made(DEFINITION.levels[level], seed), tmp_path)
    observation, rng = game.reset(), Random(seed)
    for _ in range(20 * seed):
        harmless = [one for one in observation.valid_actions if one.split()[0] in HARMLESS]
        observation = game.step(rng.choice(harmless))
    observation, _ = _play(game, observation)
    assert observation.won
    assert observation.score == MAX_SCORES[level]


@pytest.mark.parametrize("ingredients", [1, 2, 4])
def test_the_oracle_finds_room_in_few_hands(ingredients: int, tmp_path: Path) -> None:
    level = DEFINITION.levels["hardest"].model_copy(update={"ingredients": ingredients})
    game = InMemory(_made(level, ingredients), tmp_path)
    observation, commands = _play(game, game.reset())
    assert observation.score == level.max_score
    assert ingredients == 1 or any(command.startswith("drop ") for command in commands)


def test_the_oracle_gives_up_a_spoiled_meal(tmp_path: Path) -> None:
    game = InMemory(_made(DEFINITION.levels["rl-2"], 0), tmp_path)
    observation, oracle = game.reset(), CookingOracle()
    while not (action := oracle.next_action(game.true_facts(), observation) or "").startswith(
        "cook "
    ):
        observation = game.step(action)
    tools = {one for one in observation.valid_actions if one.startswith("cook ")} - {action}
    assert tools
    spoiled = game.step(sorted(tools)[0])
    assert spoiled.done
    assert not spoiled.won
    assert oracle.next_action(game.true_facts(), spoiled) is None


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_seed_of_a_published_game_makes_it_again(name: str, published: Path) -> None:
    level, seed = PUBLISHED[name]
    ours = json.loads(json.dumps(_made(DEFINITION.levels[level], seed).serialize()))
    theirs = json.loads((published / name / "game.json").read_text())
    # The published games do not say whether the oven is open.
    oven: dict[str, Any] = {"name": "closed" if DEFINITION.levels[level].closed else "open"}
    oven["arguments"] = [{"name": "oven_0", "type": "oven"}]
    assert _facts(ours) - _facts(theirs) == {json.dumps(oven, sort_keys=True)}
    assert _facts(theirs) <= _facts(ours)
    assert ours["infos"] == theirs["infos"]
    game = TextWorldEnvironment(published / name / "game.z8")
    observation, _ = _play(game, game.reset())
    game.close()
    assert observation.won
    assert observation.score == observation.max_score == MAX_SCORES[level]


def test_the_facts_follow_a_drink(games_folder: Path) -> None:
    files = make_game("cooking:rl-3@80", games_folder)
    game = TextWorldEnvironment(files.story)
    seen, chance = game.reset(), Random(0)
    while "take water from fridge" not in seen.valid_actions:
        moves = [one for one in seen.valid_actions if one.split()[0] in {"go", "open"}]
        seen = game.step(chance.choice(moves))
    game.step("take water from fridge")
    assert game.step("drink water").text == "You drink the water. Not bad."
    assert TrueFact("consumed", ("water",)) in game.true_facts()
    assert TrueFact("in", ("water", "i")) not in game.true_facts()
    game.close()


def test_a_published_game_gets_the_hint_about_tools(published: Path) -> None:
    game = play_story(str(published / "cook" / "game.z8"))
    assert game.goal.startswith("You are hungry! Let's cook a delicious meal.")
    assert game.goal.endswith(DEFINITION.tool_hint)
    assert game.reset().location == "livingroom"
    assert game.step("go south").location == "kitchen"
    game.close()


def write_game(story: Path) -> None:
    """The story and the `.json` of `cooking:rl-4@7`, unchecked."""
    compile_game(_made(DEFINITION.levels["rl-4"], 7), story)


def _made_elsewhere(folder: Path) -> subprocess.Popen[bytes]:
    """A process that makes the game where sets are in another order."""
    script = "import sys, pathlib, test_cooking as t; t.write_game(pathlib.Path(sys.argv[1]))"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "12345",
        "TZ": "Pacific/Kiritimati",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]),
    }
    command = [sys.executable, "-c", script, str(folder / "cooking-rl-4-7.z8")]
    return subprocess.Popen(command, env=environment, cwd=folder)


def test_a_made_game_is_checked_and_the_same_everywhere(games_folder: Path, tmp_path: Path) -> None:
    with _made_elsewhere(tmp_path) as elsewhere:
        files = make_game("cooking:rl-4@7", games_folder)
    assert elsewhere.returncode == 0
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (files.story.parent / file.name).read_bytes()
    assert len(list(tmp_path.iterdir())) == 2
    assert files.max_score == 11
    assert files.walkthrough[-2:] == ("prepare meal", "eat meal")
    assert files.goal == DEFINITION.goal
    game = play_story(str(files.story))
    assert game.goal == DEFINITION.goal, "a game of this family needs no hint but its own"
    game.close()


def test_the_recipe_is_read_from_facts() -> None:
    facts = [
        TrueFact("base", ("carrot", "ingredient_0")),
        TrueFact("base", ("banana", "ingredient_1")),
        TrueFact("sliced", ("ingredient_0",)),
        TrueFact("roasted", ("ingredient_0",)),
        TrueFact("uncut", ("ingredient_1",)),
        TrueFact("raw", ("ingredient_1",)),
        TrueFact("diced", ("banana",)),
    ]
    assert recipe(facts) == (
        Ingredient("banana", None, None),
        Ingredient("carrot", "sliced", "roasted"),
    )
    assert CookingFamily().adopt(frozenset(facts)) is not None
    assert CookingFamily().adopt(frozenset(facts[2:])) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rooms = 9", "rooms = 7", "levels.rl-3.rooms: Input should be 1, 6, 9 or 12"),
        ("ingredients = 4", "ingredients = 6", "levels.hard.ingredients: .*less than or equal"),
        ("cut = false", "cut = true", "levels.rl-3: .*cut without cook needs 1 or 6 rooms, not 9"),
        ("closed = true", "doors = true", "levels.rl-1"),
        ('foods = "all"', 'foods = "fish"', "levels.small.foods"),
        ("You are hungry.", "You are [hungry].", "goal: String should match"),
        ("rooms = 9", "rooms = ", "not valid TOML"),
    ],
)
def test_a_bad_definition_names_file_and_field(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (data_folder("envs") / "cooking.toml").read_text()
    assert old in text
    path = tmp_path / "cooking.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=message) as caught:
        CookingFamily(path).levels()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_textworld_cannot_make_is_said_in_one_line() -> None:
    level = DEFINITION.levels["standard"].model_copy(update={"rooms": 3})
    with pytest.raises(GameError, match="TextWorld cannot make this cooking game") as caught:
        _made(level, 0)
    assert "\n" not in str(caught.value)
