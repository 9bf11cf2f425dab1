"""The screen in words: the place, what is seen and where, and how the player is."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.envs.nethack.grid import (
    Square,
    column_of,
    direction_to,
    distance,
    in_compass_order,
    row_of,
)
from arigraph_local.envs.nethack.level import LevelMemory
from arigraph_local.envs.nethack.places import Exit, Place, PlaceKind
from arigraph_local.envs.nethack.sight import Kind, Sight, Thing, Vitals
from arigraph_local.envs.nethack.terrain import FEATURES, Terrain
from arigraph_local.envs.nethack.wording import a, counted, listed

_DOOR_STATES = {Terrain.CLOSED_DOOR: "closed", Terrain.OPEN_DOOR: "open"}
_MOST_THINGS = 12
"""Things of one place that are told, the nearest first."""


def describe(
    level: LevelMemory, sight: Sight, lying_here: Sequence[str], *, whole_level: bool
) -> str:
    """The observation: the place the player is in and, if asked for, the rest of the level."""
    if sight.swallowed:
        return f"You are inside a monster.\n{describe_vitals(sight.vitals)}"
    place = level.here(sight)
    lines = [_describe_place(level, sight, place), _describe_underfoot(level, sight, lying_here)]
    lines.append(_describe_exits(level, sight, place))
    lines.append(_describe_things(level, sight, things_in(level, place), "You see"))
    lines += _describe_monsters(level, sight)
    if whole_level:
        lines += _describe_rest(level, sight, place)
    lines.append(describe_vitals(sight.vitals))
    return "\n".join(line for line in lines if line)


def describe_vitals(vitals: Vitals) -> str:
    """The bottom lines of the screen as a sentence."""
    state = [vitals.hunger, *([vitals.burden] if vitals.burden else []), *vitals.conditions]
    return (
        f"You have {vitals.hp} of {vitals.max_hp} hit points and {vitals.power} of "
        f"{vitals.max_power} power, armour class {vitals.armour_class}, experience level "
        f"{vitals.experience_level}, {vitals.gold} gold. You are {listed(state)}. "
        f"It is turn {vitals.turn}."
    )


def where(hero: Square, square: Square) -> str:
    """`3 squares northeast`, or `here`."""
    if square == hero:
        return "here"
    return f"{counted(distance(hero, square), 'square')} {direction_to(hero, square)}"


def things_in(level: LevelMemory, place: Place) -> list[Thing]:
    """Features, traps, boulders and objects known to be in a place."""
    squares = level.places.squares(level.ground, place)
    inside = set(squares)
    features = [
        Thing(square, Kind.OBJECT, FEATURES[Terrain(level.ground[square])])
        for square in squares
        if level.ground[square] in FEATURES
    ]
    traps = [
        Thing(square, Kind.TRAP, name)
        for square, name in sorted(level.traps.items())
        if square in inside
    ]
    boulders = [
        Thing(square, Kind.BOULDER, "boulder") for square in sorted(level.boulders & inside)
    ]
    return features + level.objects_in(inside) + traps + boulders


def _describe_place(level: LevelMemory, sight: Sight, place: Place) -> str:
    name = f"You are in {level.name}, {place}"
    hero = sight.hero
    if place.kind is PlaceKind.CORRIDOR:
        ways = {direction_to(hero, square) for square in level.ways(hero)}
        leads = listed(in_compass_order(ways))
        return f"{name}. From here it leads {leads}." if leads else f"{name}. No way on is seen."
    squares = level.places.squares(level.ground, place)
    if place.kind is PlaceKind.CAVE or not squares:
        return f"{name}."
    unseen = any(level.is_frontier(square) for square in squares)
    size = _size(squares)
    part = _part(squares, hero)
    return f"{name}. {'What is seen of it is' if unseen else 'It is'} {size}; you are in {part}."


def _size(squares: Sequence[Square]) -> str:
    width, height = (
        _extent([column_of(square) for square in squares]),
        _extent([row_of(square) for square in squares]),
    )
    shape = "" if len(squares) == width * height else ", of irregular shape"
    return f"{counted(width, 'square')} wide and {height} high{shape}"


def _extent(numbers: Sequence[int]) -> int:
    return max(numbers) - min(numbers) + 1


def _part(squares: Sequence[Square], hero: Square) -> str:
    vertical = _third([row_of(square) for square in squares], row_of(hero), "north", "south")
    horizontal = _third([column_of(square) for square in squares], column_of(hero), "west", "east")
    part = vertical + horizontal
    return f"its {part} part" if part else "the middle of it"


def _third(numbers: Sequence[int], own: int, low: str, high: str) -> str:
    start, extent = min(numbers), _extent(numbers)
    if extent < 3:
        return ""
    return (low, "", high)[max(0, min(2, (own - start) * 3 // extent))]


def _describe_underfoot(level: LevelMemory, sight: Sight, lying_here: Sequence[str]) -> str:
    ground = level.ground[sight.hero]
    place = level.here(sight)
    own = [one for one in level.places.exits(level.ground, place) if one.square == sight.hero]
    parts = []
    if own:
        parts.append(f"You stand in the {own[0].name}.")
    elif ground in FEATURES:
        parts.append(f"You stand on the {FEATURES[Terrain(ground)]}.")
    if sight.hero in level.traps:
        parts.append(f"You are on {a(level.traps[sight.hero])}.")
    if lying_here:
        parts.append(f"On the floor here: {listed(lying_here)}.")
    return " ".join(parts)


def _describe_exits(level: LevelMemory, sight: Sight, place: Place) -> str:
    if place.kind is PlaceKind.CAVE:
        ways = in_compass_order(set(level.places.cave_ways(level.ground, place)))
        return f"There are ways on to the {listed(ways)}." if ways else ""
    exits = level.places.exits(level.ground, place)
    if place.kind is PlaceKind.ROOM and not exits:
        return "No exit of the room is seen."
    told = [f"{a(one.name)}{_state(level, one)} {where(sight.hero, one.square)}" for one in exits]
    return f"Exits: {', '.join(told)}." if told else ""


def _state(level: LevelMemory, one: Exit) -> str:
    if one.square in level.locked and level.ground[one.square] == Terrain.CLOSED_DOOR:
        return " (locked)"
    state = _DOOR_STATES.get(Terrain(level.ground[one.square]))
    return f" ({state})" if state else ""


def _describe_things(level: LevelMemory, sight: Sight, things: Sequence[Thing], lead: str) -> str:
    away = [thing for thing in things if thing.square != sight.hero]
    away.sort(key=lambda thing: (distance(thing.square, sight.hero), thing.square))
    told = [f"{a(thing.name)} {where(sight.hero, thing.square)}" for thing in away[:_MOST_THINGS]]
    more = len(away) - len(told)
    if more:
        told.append(f"{counted(more, 'more thing')}")
    return f"{lead} {listed(told)}." if told else ""


def _describe_monsters(level: LevelMemory, sight: Sight) -> list[str]:
    """Everything alive that the player perceives, wherever it is: it may come."""
    monsters = sorted(
        sight.monsters(), key=lambda thing: (distance(thing.square, sight.hero), thing.square)
    )
    told = {
        Kind.PET: "Your {name} is {where}.",
        Kind.PEACEFUL: "A peaceful {name} is {where}.",
        Kind.HOSTILE: "A hostile {name} is {where}.",
        Kind.UNKNOWN_MONSTER: "An {name} is {where}.",
    }
    return [
        told[thing.kind].format(name=thing.name, where=where(sight.hero, thing.square))
        for thing in monsters[:_MOST_THINGS]
    ]


def _describe_rest(level: LevelMemory, sight: Sight, here: Place) -> list[str]:
    lines = []
    for place in level.places.known():
        squares = level.places.squares(level.ground, place)
        if place == here or not squares:
            continue
        nearest = min(squares, key=lambda square: (distance(square, sight.hero), square))
        size = f", {_size(squares)}" if place.kind is PlaceKind.ROOM else ""
        line = f"{str(place).capitalize()} is {where(sight.hero, nearest)}{size}."
        exits = [
            f"{a(one.name)}{_state(level, one)}" for one in level.places.exits(level.ground, place)
        ]
        if exits:
            line += f" Exits: {', '.join(exits)}."
        lines.append(
            f"{line} {_describe_things(level, sight, things_in(level, place), 'There you saw')}"
        )
    return lines
