"""Cleaning: a house with things out of place, generated from `envs/cleaning.toml` and a seed.

The task is that of the games the AriGraph paper plays: nine furnished rooms and eleven misplaced
things at `standard`, two points to be won with each. Unlike there, every container says whether it
is open, so that facts and valid actions follow the game. The game itself has no quest; see
`cleaning_scoring` for its score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from arigraph_local.envs.checking import check_game
from arigraph_local.envs.cleaning_definition import (
    CleaningDefinition,
    CleaningLevel,
    CleaningRoom,
)
from arigraph_local.envs.cleaning_oracle import CleaningOracle
from arigraph_local.envs.cleaning_scoring import CleaningEnvironment, House
from arigraph_local.envs.compiling import check_made_names, compile_game, new_maker
from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import Environment, TrueFact
from arigraph_local.envs.family import Adopted, BuiltGame, LevelSummary, Oracle
from arigraph_local.envs.maps import OPPOSITE, RoomMap, grow_map
from arigraph_local.envs.solving import solution
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.envs.world_state import WorldState
from arigraph_local.errors import GameError
from arigraph_local.resources import data_folder


@dataclass(frozen=True)
class CleaningPlan:
    """A game before it is written. `rooms` are numbered as in `map`; `astray[thing]` is the
    surface, container or room where a misplaced thing lies."""

    map: RoomMap
    rooms: tuple[CleaningRoom, ...]
    astray: Mapping[str, str]


def draw_plan(definition: CleaningDefinition, level: CleaningLevel, rng: Random) -> CleaningPlan:
    """A random house of this level. Raises `GameError` if its map cannot be made."""
    try:
        room_map = grow_map(rng, level.rooms, level.cycles)
    except ValueError as error:
        raise GameError(f"cannot make the map of a house: {error}") from error
    rooms = tuple(rng.sample(definition.rooms, level.rooms))
    misplaced = _misplaced(rooms, level.misplaced, rng)
    # The definition sees to it that another room has a container for each that is hidden.
    astray: dict[str, str] = {}
    for thing, own in misplaced:
        others = [room for room in rooms if room is not own]
        inside = [place for room in others for place in room.containers]
        outside = [place for room in others for place in (*room.surfaces, room.name)]
        astray[thing] = rng.choice(inside if len(astray) < level.hidden else outside)
    return CleaningPlan(room_map, rooms, astray)


def _misplaced(
    rooms: tuple[CleaningRoom, ...], count: int, rng: Random
) -> list[tuple[str, CleaningRoom]]:
    """Things and their own rooms, such that no piece of furniture loses its last thing."""
    left = {place: len(things) for room in rooms for place, things in room.furniture.items()}
    candidates = [
        (thing, place, room)
        for room in rooms
        for place, things in room.furniture.items()
        for thing in things
    ]
    rng.shuffle(candidates)
    chosen: list[tuple[str, CleaningRoom]] = []
    for thing, place, room in candidates:
        if left[place] > 1 and len(chosen) < count:
            left[place] -= 1
            chosen.append((thing, room))
    return chosen


class CleaningFamily:
    """The Cleaning games, as `games.FAMILIES` offers them."""

    name = "cleaning"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @cached_property
    def _definition(self) -> CleaningDefinition:
        path = self._path or data_folder("envs") / "cleaning.toml"
        return read_definition(path, CleaningDefinition)

    @cached_property
    def _house(self) -> House:
        return House(self._definition.places, taking_is_kept=True)

    @cached_property
    def _houses(self) -> tuple[House, ...]:
        published = (
            House(house.places, taking_is_kept=False) for house in self._definition.published
        )
        return (self._house, *published)

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
                description=f"{level.misplaced} things out of place, {level.hidden} of them hidden",
            )
            for name, level in self._definition.levels.items()
        }

    def definition(self, level: str) -> str:
        """The level with the rooms, their things and the goal, as JSON."""
        return self._definition.model_copy(
            update={
                "levels": {level: self._definition.levels[level]},
                "description": "",
                "published": (),
            }
        ).model_dump_json()

    def build(self, level: str, seed: int, story: Path) -> BuiltGame:
        """Write the game of `level` and `seed` to `story` and check it by playing it."""
        definition = self._definition
        parameters = definition.levels[level]
        plan = draw_plan(definition, parameters, Random(f"cleaning:{level}@{seed}"))
        game = _make_world(plan, definition.goal, seed)
        compile_game(game, story)
        # Opened once: reading a game's rules takes half a second.
        environment = self.scored(TextWorldEnvironment(story))
        try:
            walkthrough = solution(environment, self.oracle(), parameters.step_limit)
            check_game(lambda: environment, walkthrough, parameters.max_score, story.stem)
        finally:
            environment.close()
        return BuiltGame(walkthrough, parameters.max_score, definition.goal, parameters.step_limit)

    def scored(self, environment: Environment) -> Environment:
        """The environment with the score of a house of this family."""
        return CleaningEnvironment(environment, self._house)

    def adopt(self, facts: frozenset[TrueFact]) -> Adopted | None:
        """The published houses, and games of this family made elsewhere."""
        state = WorldState(facts)
        for house in self._houses:
            if house.is_of(state):
                return Adopted(self._definition.goal, partial(CleaningEnvironment, house=house))
        return None

    def oracle(self) -> Oracle:
        """A player that knows where everything is and belongs."""
        return CleaningOracle(self._houses)


def _make_world(plan: CleaningPlan, goal: str, seed: int) -> Any:
    maker = new_maker(seed)
    places = {room.name: maker.new_room(room.name) for room in plan.rooms}
    made = [places[room.name] for room in plan.rooms]
    for here, direction, there in plan.map.connections:
        maker.connect(made[here].exits[direction], made[there].exits[OPPOSITE[direction]])
    maker.set_player(made[0])
    for room in plan.rooms:
        for name in room.furniture:
            places[name] = _new_furniture(maker, name, is_container=name in room.containers)
            places[room.name].add(places[name])
    for room in plan.rooms:
        for home, things in room.furniture.items():
            for name in things:
                thing = maker.new("o", name=name, desc=f"An ordinary {name}.")
                places[plan.astray.get(name, home)].add(thing)
    game = maker.build()
    game.objective = goal
    furniture = [held for room in plan.rooms for held in room.furniture.values()]
    check_made_names(game, (*places, *chain.from_iterable(furniture)))
    return game


def _new_furniture(maker: Any, name: str, *, is_container: bool) -> Any:
    """A surface, or a closed container: with nothing said of it, it could be opened unnoticed."""
    if not is_container:
        return maker.new("s", name=name, desc=f"The {name} has room for things.")
    state = "[if open]open[otherwise]closed[end if]"
    container = maker.new("c", name=name, desc=f"The {name} is {state}.")
    container.add_property("closed")
    return container
