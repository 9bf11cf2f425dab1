"""Maps of rooms on a grid, and the shortest routes through them."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from random import Random

_STEPS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
_MAX_DRAWS = 1000


@dataclass(frozen=True)
class RoomMap:
    """`exits[room][direction]` is the room that lies there; room 0 is where the player begins."""

    exits: tuple[dict[str, int], ...]

    def route(self, start: int, end: int) -> tuple[str, ...]:
        """The directions of a shortest way from `start` to `end`; empty if they are the same.

        Raises `ValueError` if no way leads there.
        """
        came_from: dict[int, tuple[int, str]] = {}
        queue, seen = deque([start]), {start}
        while queue:
            room = queue.popleft()
            if room == end:
                return _unwind(came_from, start, end)
            for direction, neighbour in self.exits[room].items():
                if neighbour not in seen:
                    seen.add(neighbour)
                    came_from[neighbour] = (room, direction)
                    queue.append(neighbour)
        raise ValueError(f"no way from room {start} to room {end}")

    @property
    def connections(self) -> tuple[tuple[int, str, int], ...]:
        """Each pair of joined rooms once: (room, direction, room there)."""
        return tuple(
            (room, direction, neighbour)
            for room, exits in enumerate(self.exits)
            for direction, neighbour in exits.items()
            if room < neighbour
        )


def grow_map(rng: Random, rooms: int, cycles: int) -> RoomMap:
    """A connected map of `rooms` rooms with `rooms - 1 + cycles` connections.

    Rooms are added one by one beside a random earlier one, on a grid a little larger than
    needed. Raises `ValueError` if so many cycles do not fit.
    """
    for _ in range(_MAX_DRAWS):
        cells, exits = _grow_tree(rng, rooms)
        open_pairs = _open_pairs(cells, exits)
        if len(open_pairs) >= cycles:
            for room, direction, neighbour in rng.sample(open_pairs, cycles):
                _join(exits, room, direction, neighbour)
            return RoomMap(tuple(exits))
    raise ValueError(f"{cycles} cycles do not fit in a map of {rooms} rooms")


def _grow_tree(rng: Random, rooms: int) -> tuple[dict[tuple[int, int], int], list[dict[str, int]]]:
    side = math.ceil(math.sqrt(rooms)) + 1
    cells = {(rng.randrange(side), rng.randrange(side)): 0}
    exits: list[dict[str, int]] = [{}]
    while len(cells) < rooms:
        (x, y), room = rng.choice(list(cells.items()))
        direction, (dx, dy) = rng.choice(list(_STEPS.items()))
        cell = (x + dx, y + dy)
        if cell in cells or not (0 <= cell[0] < side and 0 <= cell[1] < side):
            continue
        cells[cell] = len(exits)
        exits.append({})
        _join(exits, room, direction, cells[cell])
    return cells, exits


def _open_pairs(
    cells: dict[tuple[int, int], int], exits: list[dict[str, int]]
) -> list[tuple[int, str, int]]:
    return [
        (room, direction, cells[neighbour])
        for (x, y), room in cells.items()
        for direction in ("east", "south")
        if (neighbour := (x + _STEPS[direction][0], y + _STEPS[direction][1])) in cells
        and direction not in exits[room]
    ]


def _join(exits: list[dict[str, int]], room: int, direction: str, neighbour: int) -> None:
    exits[room][direction] = neighbour
    exits[neighbour][OPPOSITE[direction]] = room


def _unwind(came_from: dict[int, tuple[int, str]], start: int, end: int) -> tuple[str, ...]:
    directions: list[str] = []
    room = end
    while room != start:
        room, direction = came_from[room]
        directions.append(direction)
    return tuple(reversed(directions))
