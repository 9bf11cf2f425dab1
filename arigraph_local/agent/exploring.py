"""Exploration from the map alone (paper appendices A and B, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arigraph_local.memory.spatial.directions import direction_of
from arigraph_local.memory.spatial.spatial_map import SpatialMap


@dataclass(frozen=True)
class Frontier:
    """A known exit that has not been walked, and how many moves away its room is."""

    room: str
    direction: str
    distance: int

    @property
    def action(self) -> str:
        """The action that walks through it."""
        if self.distance == 0:
            return f"go {self.direction}"
        return f"explore {self.direction} from {self.room}"

    def __str__(self) -> str:
        return f"{self.room}, {self.direction}"


def exits_offered(valid_actions: Sequence[str]) -> set[str]:
    """The directions that a game's actions name as moves."""
    moves = (action.removeprefix("go ") for action in valid_actions if action.startswith("go "))
    return {move for move in moves if direction_of(move) is not None}


def frontiers(graph: SpatialMap, location: str, valid_actions: Sequence[str]) -> list[Frontier]:
    """Algorithm 3: exits without a passage, of every room that can be reached, nearest first.

    The exits of the room the player stands in are also read from the valid actions.
    """
    here = exits_offered(valid_actions)
    found: list[Frontier] = []
    for room, route in {location: [], **graph.destinations(location)}.items():
        exits = set(graph.unexplored_exits(room))
        if room == location:
            exits |= {direction for direction in here if graph.passage(room, direction) is None}
        found.extend(Frontier(room, direction, len(route)) for direction in sorted(exits))
    return sorted(found, key=lambda item: (item.distance, item.room, item.direction))


def destinations(graph: SpatialMap, location: str) -> list[str]:
    """Rooms more than one move away that the graph knows a route to, nearest first."""
    return [room for room, route in graph.destinations(location).items() if len(route) > 1]
