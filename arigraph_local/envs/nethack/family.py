"""The NetHack worlds, as `games.LIVE_FAMILIES` offers them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import Environment
from arigraph_local.envs.family import LevelSummary
from arigraph_local.envs.nethack.definition import NetHackDefinition
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.errors import GameError
from arigraph_local.resources import data_folder


class NetHackFamily:
    """NetHack with observations of the room or of the level; a seed fixes the whole dungeon."""

    name = "nethack"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @cached_property
    def _definition(self) -> NetHackDefinition:
        path = self._path or data_folder("envs") / "nethack.toml"
        return read_definition(path, NetHackDefinition)

    @property
    def description(self) -> str:
        """What the player has to do, in one line."""
        return self._definition.description

    def levels(self) -> dict[str, LevelSummary]:
        """The levels by name: they differ in what is told, not in the dungeon."""
        return {
            name: LevelSummary(
                rooms=0, max_score=0, step_limit=level.step_limit, description=level.description
            )
            for name, level in self._definition.levels.items()
        }

    def definition(self, level: str) -> str:
        """The level with the character and the goal, as JSON, and the version of the game."""
        parameters = self._definition.model_copy(
            update={"levels": {level: self._definition.levels[level]}, "description": ""}
        )
        return f"nle {_nle_version()}\n{parameters.model_dump_json()}"

    def open(
        self, level: str, seed: int, say: Callable[[str], None] = lambda _: None
    ) -> Environment:
        """A game in a process and a folder of its own. Raises `GameError` without `nle`."""
        if _nle_version() is None:
            raise GameError("NetHack needs the package nle: pip install 'arigraph-local[nethack]'")
        # The package needs numpy, which a list of games does not.
        from arigraph_local.envs.nethack.environment import NetHackEnvironment

        definition, parameters = self._definition, self._definition.levels[level]
        make = partial(
            NetHackEnvironment,
            seed=seed,
            character=definition.character,
            goal=definition.goal,
            whole_level=parameters.whole_level,
            skill_steps=parameters.skill_steps,
        )
        return ProcessEnvironment(make, say=say, own_folder=True)


def _nle_version() -> str | None:
    try:
        return version("nle")
    except PackageNotFoundError:
        return None
