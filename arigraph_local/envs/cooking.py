"""Cooking: TextWorld's cooking games at the levels of `envs/cooking.toml`.

They are the games the AriGraph paper plays, and those with which agents trained by reinforcement
learning are compared. A name's seed is TextWorld's own: `cooking:standard@10318` is the published
game, with the same facts but that the oven, of which the published game does not say whether it
is open, says so.
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path

from arigraph_local.envs.checking import check_game
from arigraph_local.envs.compiling import compile_game
from arigraph_local.envs.cooking_definition import CookingDefinition, CookingLevel
from arigraph_local.envs.cooking_oracle import PREPARE_MEAL, CookingOracle, recipe
from arigraph_local.envs.cooking_world import make_world
from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import Environment, Observation, TrueFact
from arigraph_local.envs.family import Adopted, BuiltGame, LevelSummary, Oracle
from arigraph_local.envs.solving import solution
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.resources import data_folder


class CookingFamily:
    """The cooking games, as `games.FAMILIES` offers them."""

    name = "cooking"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @cached_property
    def _definition(self) -> CookingDefinition:
        path = self._path or data_folder("envs") / "cooking.toml"
        return read_definition(path, CookingDefinition)

    @property
    def description(self) -> str:
        """What the player has to do, in one line."""
        return self._definition.description

    def levels(self) -> dict[str, LevelSummary]:
        """The levels by name, from the easiest to the hardest."""
        return {
            name: LevelSummary(
                rooms=level.rooms,
                max_score=level.max_score,
                step_limit=level.step_limit,
                description=_describe(level),
            )
            for name, level in self._definition.levels.items()
        }

    def definition(self, level: str) -> str:
        """The level with the goal, as JSON."""
        return self._definition.model_copy(
            update={"levels": {level: self._definition.levels[level]}, "description": ""}
        ).model_dump_json()

    def build(self, level: str, seed: int, story: Path) -> BuiltGame:
        """Write the game of `level` and `seed` to `story` and check it by playing it."""
        parameters = self._definition.levels[level]
        objective = self._definition.objective(parameters)
        compile_game(make_world(parameters, objective, seed), story)
        # Opened once: reading a game's rules takes half a second.
        environment = TextWorldEnvironment(story)
        try:
            walkthrough = solution(environment, self.oracle(), parameters.step_limit)
            check_game(
                lambda: environment,
                walkthrough,
                parameters.max_score,
                story.stem,
                refusable=[PREPARE_MEAL],
            )
        finally:
            environment.close()
        return BuiltGame(walkthrough, parameters.max_score, objective, parameters.step_limit)

    def scored(self, environment: Environment) -> Environment:
        """The environment itself: the game gives all the points."""
        return environment

    def adopt(self, facts: frozenset[TrueFact]) -> Adopted | None:
        """Any cooking game of TextWorld. As the paper tells its agents, the goal says which tool
        is for what; a game of this family keeps its own."""
        if not recipe(facts):
            return None
        goal, hint = self._definition.goal, self._definition.tool_hint
        return Adopted(f"{goal} {hint}", partial(HintedEnvironment, hint=hint, unless=goal))

    def oracle(self) -> Oracle:
        """A player that knows the recipe and where everything is."""
        return CookingOracle()


class HintedEnvironment:
    """An environment whose goal is followed by `hint`, unless it begins with `unless`."""

    def __init__(self, environment: Environment, hint: str, unless: str) -> None:
        self._environment = environment
        self._hint = hint
        self._unless = unless

    @property
    def goal(self) -> str:
        """The game's own goal, and the hint."""
        goal = self._environment.goal
        return goal if goal.startswith(self._unless) else f"{goal} {self._hint}"

    def reset(self) -> Observation:
        """Start over and return the first observation."""
        return self._environment.reset()

    def step(self, command: str) -> Observation:
        """Send one command."""
        return self._environment.step(command)

    def true_facts(self) -> frozenset[TrueFact]:
        """The whole true state of the game."""
        return self._environment.true_facts()

    def close(self) -> None:
        """Free the game."""
        self._environment.close()


def _describe(level: CookingLevel) -> str:
    count = f"{level.ingredients} ingredient{'s' if level.ingredients > 1 else ''}"
    ways = [word for word, wanted in (("cut", level.cut), ("cook", level.cook)) if wanted]
    parts = [f"{count} to {' and '.join(ways)}" if ways else f"{count} to fetch"]
    if level.closed:
        parts.append("closed doors")
    if level.carry_limit:
        parts.append("few hands")
    return ", ".join(parts)
