"""Which place a square belongs to: rooms, corridors and parts of caves, numbered as they are found.

The game has no names for places; these let a graph of places be drawn. A room is the ground inside
one set of walls and doors; a doorway belongs to its room. A corridor keeps the number under which
its squares were first entered. Caves have no rooms, so they are divided into parts of equal size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from arigraph_local.envs.nethack.grid import (
    NEIGHBOURS,
    STRAIGHT_NEIGHBOURS,
    Square,
    column_of,
    direction_to,
    row_of,
)
from arigraph_local.envs.nethack.terrain import DOORS, ROOM_GROUND, WALKABLE, Terrain

_CAVE_ROWS, _CAVE_COLUMNS = 7, 16
"""The size of a part of a cave: what a player overlooks at once, more or less."""

_ORDINALS = ("", "second ", "third ", "fourth ", "fifth ", "sixth ", "seventh ", "eighth ")


class PlaceKind(StrEnum):
    """What sort of place it is; the value is its name in texts."""

    ROOM = "room"
    CORRIDOR = "corridor"
    CAVE = "cave"


@dataclass(frozen=True)
class Place:
    """One place of a level; `number` counts places of its kind from 1."""

    kind: PlaceKind
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True)
class Exit:
    """A way out of a room: a door in the wall that lies in `direction`, seen from inside.

    `name` stays the same once given, even if the door is broken.
    """

    square: Square
    name: str
    direction: str


class Places:
    """The places of one level."""

    def __init__(self, *, is_cave: bool = False) -> None:
        self._is_cave = is_cave
        self._place_of: dict[Square, Place] = {}
        self._cells: dict[tuple[int, int], Place] = {}
        self._counts = dict.fromkeys(PlaceKind, 0)
        self._exits: dict[Place, dict[Square, Exit]] = {}
        self._traced: dict[Place, bytes] = {}

    def here(self, ground: bytes, hero: Square) -> Place:
        """The place the player stands in; a new one gets the next number."""
        if self._is_cave:
            return self._cell(hero)
        inside = self._inside(ground, hero)
        known = self._place_of.get(hero if inside is None else inside)
        if known is not None and self._traced.get(known) == ground:
            return known
        place = self._corridor(ground, hero) if inside is None else self._room(ground, inside)
        self._traced[place] = ground
        return place

    def of(self, square: Square) -> Place | None:
        """The place of a square that belongs to one that has been entered."""
        if self._is_cave:
            return self._cells.get(_cell_of(square))
        return self._place_of.get(square)

    def known(self) -> list[Place]:
        """Every place entered so far, in order."""
        places = self._cells.values() if self._is_cave else self._place_of.values()
        return sorted(set(places), key=lambda place: (place.kind, place.number))

    def squares(self, ground: bytes, place: Place) -> list[Square]:
        """The ground of a place, doors apart, in reading order."""
        if self._is_cave:
            return [
                square
                for square, terrain in enumerate(ground)
                if terrain in WALKABLE and self._cells.get(_cell_of(square)) == place
            ]
        return sorted(square for square, one in self._place_of.items() if one == place)

    def exits(self, ground: bytes, place: Place) -> list[Exit]:
        """The doors, doorways and openings of a room, in the order they were found."""
        if place.kind is not PlaceKind.ROOM:
            return []
        named = self._exits.setdefault(place, {})
        for square in self.squares(ground, place):
            for neighbour in STRAIGHT_NEIGHBOURS[square]:
                terrain = ground[neighbour]
                if neighbour in named or not _is_way_out(ground, neighbour):
                    continue
                direction = direction_to(square, neighbour)
                named[neighbour] = Exit(
                    neighbour, _exit_name(direction, terrain, list(named.values())), direction
                )
        return list(named.values())

    def cave_ways(self, ground: bytes, place: Place) -> dict[str, list[Square]]:
        """Direction -> the squares just beyond the border of this part of a cave."""
        found: dict[str, list[Square]] = {}
        for square in self.squares(ground, place):
            row, column = _cell_of(square)
            for neighbour in NEIGHBOURS[square]:
                if ground[neighbour] in WALKABLE and _cell_of(neighbour) != (row, column):
                    there = _cell_of(neighbour)
                    vertical = {-1: "north", 0: "", 1: "south"}[there[0] - row]
                    horizontal = {-1: "west", 0: "", 1: "east"}[there[1] - column]
                    ends = found.setdefault(vertical + horizontal, [])
                    if neighbour not in ends:
                        ends.append(neighbour)
        return found

    def _new(self, kind: PlaceKind) -> Place:
        self._counts[kind] += 1
        return Place(kind, self._counts[kind])

    def _cell(self, hero: Square) -> Place:
        cell = _cell_of(hero)
        if cell not in self._cells:
            self._cells[cell] = self._new(PlaceKind.CAVE)
        return self._cells[cell]

    def _inside(self, ground: bytes, hero: Square) -> Square | None:
        """The room square that tells which room the player is in, if it is one."""
        if ground[hero] not in DOORS:
            return hero if _is_inside(ground, hero) else None
        beside = [square for square in STRAIGHT_NEIGHBOURS[hero] if _is_inside(ground, square)]
        entered = [square for square in beside if square in self._place_of]
        return next(iter(entered or beside), None)

    def _room(self, ground: bytes, inside: Square) -> Place:
        squares = list(_spread(inside, lambda square: _is_inside(ground, square)))
        numbers = [
            place.number
            for square in squares
            if (place := self._place_of.get(square)) and place.kind is PlaceKind.ROOM
        ]
        # Two parts of a dark room may have been taken for two rooms.
        room = Place(PlaceKind.ROOM, min(numbers)) if numbers else self._new(PlaceKind.ROOM)
        for square in squares:
            self._place_of[square] = room
        return room

    def _corridor(self, ground: bytes, hero: Square) -> Place:
        known = self._place_of.get(hero)
        if known is not None and known.kind is PlaceKind.CORRIDOR:
            corridor = known
        else:
            beside = (self._place_of.get(square) for square in NEIGHBOURS[hero])
            joined = [one for one in beside if one is not None and one.kind is PlaceKind.CORRIDOR]
            corridor = joined[0] if joined else self._new(PlaceKind.CORRIDOR)

        def belongs(square: Square) -> bool:
            if ground[square] not in WALKABLE or ground[square] in DOORS:
                return False
            mine = self._place_of.get(square, corridor) == corridor
            return mine and not _is_inside(ground, square)

        for square in _spread(hero, belongs):
            if ground[square] not in DOORS:
                self._place_of[square] = corridor
        return corridor


def _is_inside(ground: bytes, square: Square) -> bool:
    """Whether a square is the ground of a room. What lies on it may hide it: then what is beside
    it tells."""
    if ground[square] != Terrain.COVERED:
        return ground[square] in ROOM_GROUND
    around = {ground[neighbour] for neighbour in NEIGHBOURS[square]}
    if not around.isdisjoint(ROOM_GROUND):
        return True
    return Terrain.WALL in around and Terrain.CORRIDOR not in around


def _is_way_out(ground: bytes, square: Square) -> bool:
    return ground[square] in DOORS or ground[square] == Terrain.CORRIDOR


def _exit_name(direction: str, terrain: int, others: list[Exit]) -> str:
    what = {Terrain.DOORWAY: "doorway", Terrain.CORRIDOR: "opening"}.get(Terrain(terrain), "door")
    name = f"{direction} {what}"
    same = sum(one.name.endswith(name) for one in others)
    return f"{_ORDINALS[min(same, len(_ORDINALS) - 1)]}{name}"


def _cell_of(square: Square) -> tuple[int, int]:
    return row_of(square) // _CAVE_ROWS, column_of(square) // _CAVE_COLUMNS


def _spread(start: Square, belongs: Callable[[Square], bool]) -> Iterator[Square]:
    """`start` and every square that hangs together with it."""
    seen, waiting = {start}, [start]
    while waiting:
        square = waiting.pop()
        yield square
        for neighbour in NEIGHBOURS[square]:
            if neighbour not in seen and belongs(neighbour):
                seen.add(neighbour)
                waiting.append(neighbour)
