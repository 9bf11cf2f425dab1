"""Treasure Hunt: keys, lockers and notes, generated from `envs/hunt.toml` and a seed.

The structure is that of the games the AriGraph paper plays: one locked, coloured locker a room,
a chain key 1 -> locker -> key 2 -> ... -> golden key -> golden locker with the treasure, a note
beside each key but the golden one, and lockers that never open. A point for taking each key and
three for the treasure give 7 points at `standard` and 8 at `hard`, as in the published games.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from arigraph_local.envs.checking import check_game
from arigraph_local.envs.compiling import check_made_names, compile_game, new_maker
from arigraph_local.envs.definition_file import read_definition
from arigraph_local.envs.environment import Environment, TrueFact
from arigraph_local.envs.family import Adopted, BuiltGame, LevelSummary, Oracle
from arigraph_local.envs.hunt_definition import (
    HuntDefinition,
    HuntLevel,
    room_names,
)
from arigraph_local.envs.maps import OPPOSITE, RoomMap, grow_map
from arigraph_local.envs.solving import LONGEST_WALKTHROUGH
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.errors import GameError
from arigraph_local.resources import data_folder

GOLDEN_LOCKER = "golden locker"
GOLDEN_KEY = "golden key"
TREASURE = "treasure"

_MAX_DRAWS = 1000


@dataclass(frozen=True)
class HuntPlan:
    """A game before it is written: which room holds what. Rooms are numbered as in `map`.

    `chain[i]` is the locker that `keys[i]` opens; it holds `keys[i + 1]`, the last the treasure.
    """

    map: RoomMap
    rooms: tuple[str, ...]
    first_key_room: int
    chain: tuple[str, ...]
    keys: tuple[str, ...]
    locker_rooms: Mapping[str, int]
    item_rooms: Mapping[str, int]

    def walkthrough(self) -> tuple[str, ...]:
        """The shortest commands that take every key and the treasure, without reading a note."""
        commands = [f"go {way}" for way in self.map.route(0, self.first_key_room)]
        commands.append(f"take {self.keys[0]}")
        here = self.first_key_room
        for key, locker, content in zip(
            self.keys, self.chain, (*self.keys[1:], TREASURE), strict=True
        ):
            there = self.locker_rooms[locker]
            commands += [f"go {way}" for way in self.map.route(here, there)]
            commands += [f"unlock {locker} with {key}", f"open {locker}"]
            commands.append(f"take {content} from {locker}")
            here = there
        return tuple(commands)

    def notes(self) -> dict[str, str]:
        """The text of the note beside each key, by the key's name; the golden key needs none."""
        return {
            key: f"This note says: {key} opens the {locker}."
            for key, locker in zip(self.keys, self.chain, strict=True)
            if key != GOLDEN_KEY
        }


def draw_plan(definition: HuntDefinition, level: HuntLevel, rng: Random) -> HuntPlan:
    """A random game of this level whose solution leaves steps to explore.

    Raises `GameError` if none is found: the level asks for too much in too few steps.
    """
    for _ in range(_MAX_DRAWS):
        plan = _draw(definition, level, rng)
        trivial = plan.locker_rooms[plan.chain[0]] == plan.first_key_room
        if not trivial and len(plan.walkthrough()) <= level.step_limit * LONGEST_WALKTHROUGH:
            return plan
    raise GameError(
        f"no hunt with {level.rooms} rooms and a chain of {level.chain} lockers was found "
        f"that can be solved in time for a limit of {level.step_limit} steps"
    )


def _draw(definition: HuntDefinition, level: HuntLevel, rng: Random) -> HuntPlan:
    try:
        room_map = grow_map(rng, level.rooms, level.cycles)
    except ValueError as error:
        raise GameError(f"cannot make the map of a hunt: {error}") from error
    colours = rng.sample(definition.colours, level.chain + level.decoys - 1)
    lockers = [f"{colour} locker" for colour in colours]
    chain = (*lockers[: level.chain - 1], GOLDEN_LOCKER)
    places = rng.sample(range(level.rooms), level.chain + level.decoys)
    return HuntPlan(
        map=room_map,
        rooms=room_names(level.rooms),
        first_key_room=0 if level.first_key == "start" else rng.randrange(level.rooms),
        chain=chain,
        keys=(*(f"key {number}" for number in range(1, level.chain)), GOLDEN_KEY),
        locker_rooms=dict(zip((*chain, *lockers[level.chain - 1 :]), places, strict=True)),
        item_rooms={
            item: rng.randrange(level.rooms) for item in rng.sample(definition.items, level.items)
        },
    )


class HuntFamily:
    """The Treasure Hunt games, as `games.FAMILIES` offers them."""

    name = "hunt"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @cached_property
    def _definition(self) -> HuntDefinition:
        path = self._path or data_folder("envs") / "hunt.toml"
        return read_definition(path, HuntDefinition)

    @property
    def description(self) -> str:
        """What the player has to do, in one line."""
        return self._definition.description

    def levels(self) -> dict[str, LevelSummary]:
        """The levels by name, from the easiest to the hardest."""
        definition = self._definition
        return {
            name: LevelSummary(
                rooms=level.rooms,
                max_score=definition.max_score(level),
                step_limit=level.step_limit,
                description=f"{level.chain} lockers open, {level.decoys} never do",
            )
            for name, level in definition.levels.items()
        }

    def definition(self, level: str) -> str:
        """The level with its names, scoring and goal, as JSON."""
        return self._definition.model_copy(
            update={"levels": {level: self._definition.levels[level]}, "description": ""}
        ).model_dump_json()

    def build(self, level: str, seed: int, story: Path) -> BuiltGame:
        """Write the game of `level` and `seed` to `story` and check it by playing it."""
        definition = self._definition
        parameters = definition.levels[level]
        plan = draw_plan(definition, parameters, Random(f"hunt:{level}@{seed}"))
        walkthrough, max_score = plan.walkthrough(), definition.max_score(parameters)
        game = _make_world(plan, definition, seed)
        wanted = (*plan.rooms, *plan.locker_rooms, *plan.keys, *plan.item_rooms, TREASURE)
        check_made_names(game, wanted)
        game.metadata.update(walkthrough=list(walkthrough), max_score=max_score)
        compile_game(game, story)
        check_game(lambda: TextWorldEnvironment(story), walkthrough, max_score, story.stem)
        return BuiltGame(walkthrough, max_score, definition.goal, parameters.step_limit)

    def scored(self, environment: Environment) -> Environment:
        """The environment itself: the game gives all the points."""
        return environment

    def adopt(self, facts: frozenset[TrueFact]) -> Adopted | None:
        """The published hunts, whose files have no goal."""
        goal = published_goal(facts)
        return None if goal is None else Adopted(goal)

    def oracle(self) -> Oracle:
        """A player that knows where the keys and the treasure are."""
        from arigraph_local.envs.hunt_oracle import HuntOracle

        return HuntOracle()


def _make_world(plan: HuntPlan, definition: HuntDefinition, seed: int) -> Any:
    maker = new_maker(seed)
    rooms = [maker.new_room(name) for name in plan.rooms]
    for room, direction, neighbour in plan.map.connections:
        maker.connect(rooms[room].exits[direction], rooms[neighbour].exits[OPPOSITE[direction]])
    maker.set_player(rooms[0])
    lockers = {}
    for name, room in plan.locker_rooms.items():
        lockers[name] = maker.new("c", name=name, desc=_locker_description(name))
        lockers[name].add_property("locked")
        rooms[room].add(lockers[name])
    notes = plan.notes()
    taken = []
    place = rooms[plan.first_key_room]
    for key_name, locker_name in zip(plan.keys, plan.chain, strict=True):
        key = maker.new("k", name=key_name, desc=f"The {key_name} looks like it opens a locker.")
        maker.add_fact("match", key, lockers[locker_name])
        place.add(key)
        if key_name in notes:
            note_name = key_name.replace("key", "note")
            place.add(maker.new("o", name=note_name, desc=notes[key_name]))
        taken.append((key, definition.scoring.key))
        place = lockers[locker_name]
    treasure = maker.new("o", name=TREASURE, desc="The treasure glitters.")
    place.add(treasure)
    taken.append((treasure, definition.scoring.treasure))
    for item, room in plan.item_rooms.items():
        rooms[room].add(maker.new("o", name=item, desc=f"The {item} is of no use here."))
    maker.quests = [_quest(maker, thing, points) for thing, points in taken]
    game = maker.build()
    game.objective = definition.goal
    return game


def _locker_description(name: str) -> str:
    """Inform 7 text. A locked locker counts as closed there, so `locked` must be asked first."""
    return (
        f"The {name} is [if open]open[else if locked]locked[otherwise]closed, not locked[end if]."
    )


def _quest(maker: Any, thing: Any, points: int) -> Any:
    from textworld.generator.game import Event, Quest

    held = Event(conditions={maker.new_fact("in", thing, maker.inventory)})
    return Quest(win_events=[held], reward=points)


def published_goal(facts: Iterable[TrueFact]) -> str | None:
    """The goal of a published hunt, whose file has none; None if these are not a hunt's facts.

    As the paper tells its agents, it says which locker the key on the floor opens: those games
    have no note for it.
    """
    known = set(facts)
    places = {fact.arguments[0]: fact.arguments[1] for fact in known if fact.predicate == "at"}
    opens = {fact.arguments[0]: fact.arguments[1] for fact in known if fact.predicate == "match"}
    if TrueFact("in", (TREASURE, GOLDEN_LOCKER)) not in known:
        return None
    return " ".join(
        [
            "Find the treasure and take it. It is in the golden locker, which only the golden key",
            "opens. The golden key is inside one of the other lockers. Every locker is locked, and",
            "each needs a key of its own.",
            *(
                f"{key.capitalize()}, in {places[key]}, opens the {locker}."
                for key, locker in sorted(opens.items())
                if key in places
            ),
            "Read the notes you find.",
        ]
    )
