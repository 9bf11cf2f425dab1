"""What is remembered of one dungeon level: its ground, what lay on it, where one has been."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from arigraph_local.envs.nethack.grid import (
    HEIGHT,
    NEIGHBOURS,
    SQUARES,
    STRAIGHT_NEIGHBOURS,
    WIDTH,
    Square,
    column_of,
    distance,
    row_of,
)
from arigraph_local.envs.nethack.paths import Footing
from arigraph_local.envs.nethack.places import Place, Places
from arigraph_local.envs.nethack.sight import Kind, Sight, Thing
from arigraph_local.envs.nethack.terrain import DOORS, WALKABLE, WAYS_DOWN, WAYS_UP, Terrain

MINES, SOKOBAN = 2, 4
"""Numbers of the branches in which levels are not rooms and corridors, or boulders the point."""

BRANCHES = {
    0: "dungeon level",
    1: "gehennom level",
    MINES: "mines level",
    3: "quest level",
    SOKOBAN: "sokoban level",
    5: "fort ludios level",
    6: "vlad's tower level",
    7: "elemental plane",
}

FALLS = frozenset({"trap door", "hole"})
"""Traps that lead a level down or more."""

_MAY_HIDE_A_TRAP = frozenset({Terrain.UNSEEN, Terrain.COVERED, Terrain.TRAP})

_WALK = bytes(terrain in WALKABLE for terrain in range(256))
_DOOR = bytes(terrain in DOORS for terrain in range(256))

_LIKELY, _UNLIKELY, _SEARCHED = 20, 60, 4
"""Steps that one would rather walk to the end of a corridor than search a wall with the unknown
beyond it, or any other place, or a square that has been searched for a turn."""

_REFUSED_FOR = 200
"""Turns after which a step is tried again: what is behind a boulder may have gone away."""

_EMPTY_AROUND = 24
"""Unseen squares out of the 45 beyond a wall that make it worth searching for a hidden way."""


class LevelMemory:
    """One level as far as it is known. `look` takes in what is seen; the rest reads it."""

    def __init__(self, branch: int, depth: int) -> None:
        self.branch = branch
        self.depth = depth
        self.places = Places(is_cave=branch == MINES)
        self.objects: dict[Square, str] = {}
        self.boulders: set[Square] = set()
        self.traps: dict[Square, str] = {}
        self.walked: set[Square] = set()
        self.searched: Counter[Square] = Counter()
        self.locked: set[Square] = set()
        self.broken: set[Square] = set()
        self.forbidden: set[Square] = set()
        self._refused: dict[tuple[Square, Square], list[int]] = {}
        self._here: Place | None = None
        self.ground = bytes(SQUARES)

    @property
    def name(self) -> str:
        """Such as `dungeon level 3`; levels count from the surface in every branch."""
        return f"{BRANCHES.get(self.branch, f'branch {self.branch} level')} {self.depth}"

    def look(self, sight: Sight) -> None:
        """Take in what is seen now. Where the map is hidden, nothing is learned."""
        if sight.swallowed:
            return
        self._learn(sight.ground)
        self.walked.add(sight.hero)
        self.objects = {}
        self.boulders = set()
        for square in [one for one in self.traps if sight.ground[one] not in _MAY_HIDE_A_TRAP]:
            del self.traps[square]
        for thing in sight.things:
            if thing.kind is Kind.OBJECT:
                self.objects[thing.square] = thing.name
            elif thing.kind is Kind.BOULDER:
                self.boulders.add(thing.square)
            elif thing.kind is Kind.TRAP:
                self.traps[thing.square] = thing.name

    def _learn(self, ground: bytes) -> None:
        seen = np.frombuffer(ground, dtype=np.uint8)
        known = np.frombuffer(self.ground, dtype=np.uint8)
        # What covers a square now does not change what was seen of its ground before.
        covered = seen == Terrain.COVERED
        learned = (seen > Terrain.COVERED) | (covered & (known == Terrain.UNSEEN))
        # Nothing can be in a closed door: somebody has opened it.
        opened = covered & (known == Terrain.CLOSED_DOOR)
        seen = np.where(opened, np.uint8(Terrain.OPEN_DOOR), seen)
        learned |= opened
        if (learned & (seen != known)).any():
            self.ground = np.where(learned, seen, known).tobytes()

    def learn_ground(self, square: Square, terrain: Terrain) -> None:
        """Set what the game told in words of a square that something covers."""
        ground = bytearray(self.ground)
        ground[square] = terrain
        self.ground = bytes(ground)

    def here(self, sight: Sight) -> Place:
        """The place the player stands in, or was swallowed in."""
        if not sight.swallowed or self._here is None:
            self._here = self.places.here(self.ground, sight.hero)
        return self._here

    def location(self, sight: Sight) -> str:
        """The name of that place with that of the level: `dungeon level 1, room 2`."""
        return f"{self.name}, {self.here(sight)}"

    def footing(
        self,
        sight: Sight,
        *,
        daring: bool = False,
        over_boulders: bool = False,
        onto: frozenset[Square] = frozenset(),
    ) -> Footing:
        """Where one can walk now: around boulders, traps and all monsters but pets.

        The daring walk over traps too, and to where an unseen monster was felt, which may be
        gone. Squares of `onto` count as free whatever is on them.
        """
        free = bytearray(self.ground.translate(_WALK))
        for square in self.traps:
            free[square] = daring
        if not over_boulders:
            for square in self.boulders:
                free[square] = 0
        for thing in sight.monsters():
            is_doubtful = thing.kind is Kind.UNKNOWN_MONSTER
            if thing.kind is not Kind.PET and not (daring and is_doubtful):
                free[thing.square] = 0
        for square in onto:
            free[square] = 1
        since = sight.vitals.turn - _REFUSED_FOR
        refused = frozenset(
            step for step, turns in self._refused.items() if len(turns) > 1 and turns[-2] > since
        )
        return Footing(bytes(free), self._doors(), refused)

    def ways(self, square: Square) -> list[Square]:
        """The squares one step from a square, whoever stands on them now."""
        return Footing(self.ground.translate(_WALK), self._doors()).steps(square)

    def _doors(self) -> bytes:
        """The doors to be walked through straight: a broken one need not be."""
        doors = bytearray(self.ground.translate(_DOOR))
        for square in self.broken:
            doors[square] = 0
        return bytes(doors)

    def refuse(self, square: Square, neighbour: Square, turn: int) -> None:
        """Remember that this step was tried in vain; after the second time it is left alone for a
        while."""
        self._refused.setdefault((square, neighbour), []).append(turn)

    def is_frontier(self, square: Square) -> bool:
        """Whether going there may show something: not walked yet, with unseen squares beside."""
        if square in self.walked:
            return False
        return any(not self.ground[neighbour] for neighbour in NEIGHBOURS[square])

    def closed_doors(self) -> list[Square]:
        """Doors that have been seen closed."""
        closed = self.squares_with(frozenset({Terrain.CLOSED_DOOR}))
        return [square for square in closed if square not in self.forbidden]

    def squares_with(self, terrains: frozenset[Terrain]) -> list[Square]:
        """The squares whose ground is one of these, in reading order."""
        found = np.isin(np.frombuffer(self.ground, dtype=np.uint8), [int(one) for one in terrains])
        squares: list[int] = np.flatnonzero(found).tolist()
        return squares

    def ways_down(self) -> list[Square]:
        """Staircases, ladders and holes that lead down."""
        holes = [square for square, name in self.traps.items() if name in FALLS]
        return self.squares_with(WAYS_DOWN) + holes

    def ways_up(self) -> list[Square]:
        """Staircases and ladders that lead up."""
        return self.squares_with(WAYS_UP)

    def objects_in(self, squares: set[Square]) -> list[Thing]:
        """The objects remembered on these squares."""
        return [
            Thing(square, Kind.OBJECT, name)
            for square, name in sorted(self.objects.items())
            if square in squares
        ]

    def worth_searching(self, reached: dict[Square, int]) -> Square | None:
        """Of the squares that can be reached, the one to search for a hidden way.

        Ends of corridors first, then walls with unknown beyond them; near ones before far ones,
        and those that were searched in vain last.
        """
        best, lowest = None, sys.maxsize
        for square, steps in reached.items():
            terrain = self.ground[square]
            if terrain == Terrain.CORRIDOR or terrain in DOORS:
                cost = 0 if self._is_dead_end(square) else _UNLIKELY
            else:
                cost = _LIKELY if self._faces_unknown(square) else _UNLIKELY
            cost += steps + _SEARCHED * self.searched[square]
            if cost < lowest:
                best, lowest = square, cost
        return best

    def note_search(self, square: Square, turns: int) -> None:
        """Remember that the squares around were searched for so many turns."""
        for searched in (square, *NEIGHBOURS[square]):
            self.searched[searched] += turns

    def _is_dead_end(self, square: Square) -> bool:
        """Whether the ways from a square all lead to one side of it."""
        ways = [other for other in NEIGHBOURS[square] if _WALK[self.ground[other]]]
        return all(distance(one, other) <= 1 for one in ways for other in ways)

    def _faces_unknown(self, square: Square) -> bool:
        for wall in STRAIGHT_NEIGHBOURS[square]:
            if self.ground[wall] != Terrain.WALL:
                continue
            rows, columns = row_of(wall) - row_of(square), column_of(wall) - column_of(square)
            row, column = row_of(wall) + 3 * rows, column_of(wall) + 5 * columns
            unseen = sum(
                not self.ground[r * WIDTH + c]
                for r in range(max(1, row - 2), min(HEIGHT - 1, row + 3))
                for c in range(max(1, column - 4), min(WIDTH - 1, column + 5))
            )
            if unseen >= _EMPTY_AROUND:
                return True
        return False
