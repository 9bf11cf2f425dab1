"""Shortest ways over the squares that are known to be walkable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from arigraph_local.envs.nethack.grid import NEIGHBOURS, Square, is_diagonal


@dataclass(frozen=True)
class Footing:
    """Where one can walk: `free[square]` and `doors[square]` are 1 or 0.

    Doors, and doorways too, are only walked through straight: the game refuses the diagonal at
    most of them, and a straight way through always exists. `refused` are single steps that the
    game did not allow when they were tried.
    """

    free: bytes
    doors: bytes
    refused: frozenset[tuple[Square, Square]] = frozenset()

    def steps(self, square: Square) -> list[Square]:
        """The squares one step away, straight ones first."""
        free, doors = self.free, self.doors
        through_door = doors[square]
        found = [
            neighbour
            for neighbour in NEIGHBOURS[square]
            if free[neighbour]
            and not ((through_door or doors[neighbour]) and is_diagonal(square, neighbour))
        ]
        if self.refused:
            return [neighbour for neighbour in found if (square, neighbour) not in self.refused]
        return found


def shortest_way(
    footing: Footing, start: Square, is_wanted: Callable[[Square], bool]
) -> list[Square] | None:
    """The squares to step on, one after the other, to the nearest wanted square.

    Empty if `start` is wanted itself, None if no wanted square can be reached. `start` need not
    be free.
    """
    if is_wanted(start):
        return []
    came_from = {start: start}
    waiting = deque([start])
    while waiting:
        square = waiting.popleft()
        for neighbour in footing.steps(square):
            if neighbour in came_from:
                continue
            came_from[neighbour] = square
            if is_wanted(neighbour):
                return _walked_back(came_from, start, neighbour)
            waiting.append(neighbour)
    return None


def distances(footing: Footing, start: Square) -> dict[Square, int]:
    """Steps to every square that can be reached, nearest first."""
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        square = waiting.popleft()
        for neighbour in footing.steps(square):
            if neighbour not in found:
                found[neighbour] = found[square] + 1
                waiting.append(neighbour)
    return found


def _walked_back(came_from: dict[Square, Square], start: Square, end: Square) -> list[Square]:
    way = [end]
    while came_from[way[-1]] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
