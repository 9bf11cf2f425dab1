"""Exploration and navigation from the graph alone (paper appendices A and B, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arigraph_local.memory.spatial.spatial_map import SpatialMap
from arigraph_local.memory.triplet import normalise

GO_TO = "go to "


@dataclass(frozen=True)
class Frontier:
    """A known exit that has not been walked, and how many moves away its room is."""

    room: str
    direction: str
    distance: int

    def __str__(self) -> str:
        return f"{self.room}, {self.direction}"


def frontiers(graph: SpatialMap, location: str, valid_actions: Sequence[str]) -> list[Frontier]:
    """Algorithm 3: exits without a passage, of every room that can be reached, nearest first.

    The exits of the room the player stands in are also read from the valid actions.
    """
    here = {
        action.removeprefix("go ")
        for action in valid_actions
        if action.startswith("go ") and not action.startswith(GO_TO)
    }
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


def offered_actions(
    valid_actions: Sequence[str],
    goals: Sequence[str],
    *,
    limit: int,
) -> list[str]:
    """The game's actions and a `go to ROOM` for each destination, at most `limit` together.

    There is always something to do: a game that offers nothing can be looked at.
    """
    moves = [f"{GO_TO}{room}" for room in goals if f"{GO_TO}{room}" not in valid_actions]
    kept = list(valid_actions)[:limit]
    return [*kept, *moves[: max(0, limit - len(kept))]] or ["look"]


def route_of(action: str, graph: SpatialMap, location: str | None) -> list[str] | None:
    """The moves of a `go to ROOM` action, or None if it is an ordinary command."""
    if location is None or not action.startswith(GO_TO):
        return None
    return graph.route(location, normalise(action.removeprefix(GO_TO)))
