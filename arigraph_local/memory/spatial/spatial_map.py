"""The map that the graph's spatial triplets draw: passages, exits, routes (paper, appendix B)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from arigraph_local.memory.graph.store import Fact, Store
from arigraph_local.memory.spatial.directions import (
    DIRECTIONS,
    SpatialStatement,
    direction_of,
    may_be_spatial,
    read_spatial,
)
from arigraph_local.memory.triplet import Triplet, normalise


@dataclass(frozen=True)
class Passage:
    """A move just made: leaving `origin` towards `direction` led to `destination`."""

    origin: str
    direction: str
    destination: str

    def triplets(self) -> tuple[Triplet, ...]:
        """The two triplets of the move; see `direction_triplets`."""
        return direction_triplets(self.origin, self.direction, self.destination)


class SpatialMap:
    """Passages (room, direction) -> room and exits (room, direction), as the facts state them.

    `room b, is west of, room a` says that going west from room a leads to room b, and nothing
    about the way back. Where facts contradict each other the later one holds.
    """

    def __init__(self, triplets: Iterable[Triplet], rooms: Collection[str] | None = None) -> None:
        """`triplets` oldest first. `rooms` are the normalised names of known rooms: a passage
        must link two of them and an exit belong to one, so that a thing mistaken for a room
        neither hides an exit nor joins a route. Without it every name may be a room.
        """
        self._passages: dict[str, dict[str, str]] = {}
        self._exits: dict[str, set[str]] = {}
        names = None if rooms is None else frozenset(rooms)
        for triplet in triplets:
            self._read(triplet, names)

    def passages(self, room: str) -> dict[str, str]:
        """Direction -> destination of the passages that leave `room`, in compass order."""
        known = self._passages.get(room, {})
        return {direction: known[direction] for direction in DIRECTIONS if direction in known}

    def passage(self, room: str, direction: str) -> str | None:
        """Where going `direction` from `room` leads, if the graph knows."""
        return self._passages.get(room, {}).get(direction)

    def exits(self, room: str) -> tuple[str, ...]:
        """Directions in which `room` has an exit or a passage, in compass order."""
        known = self._exits.get(room, set()) | self._passages.get(room, {}).keys()
        return tuple(direction for direction in DIRECTIONS if direction in known)

    def unexplored_exits(self, room: str) -> tuple[str, ...]:
        """Exits of `room` without a passage in that direction yet (Algorithm 3)."""
        known = self._exits.get(room, set()) - self._passages.get(room, {}).keys()
        return tuple(direction for direction in DIRECTIONS if direction in known)

    def route(self, origin: str, destination: str) -> list[str] | None:
        """The directions of a shortest walk, empty if already there, None if no way is known.

        Among shortest walks the first in compass order is taken.
        """
        return self._routes(origin, destination).get(destination)

    def destinations(self, origin: str) -> dict[str, list[str]]:
        """Every room that can be reached from `origin` with its shortest route, nearest first."""
        routes = self._routes(origin, None)
        del routes[origin]
        return routes

    def without(self, doubted: Mapping[tuple[str, str], str]) -> SpatialMap:
        """The same map without the passages, (room, direction) -> room, that are doubted."""
        if not doubted:
            return self
        kept = SpatialMap(())
        kept._exits = self._exits
        kept._passages = {
            room: {
                direction: there
                for direction, there in ways.items()
                if doubted.get((room, direction)) != there
            }
            for room, ways in self._passages.items()
        }
        return kept

    def _routes(self, origin: str, goal: str | None) -> dict[str, list[str]]:
        routes: dict[str, list[str]] = {origin: []}
        queue = deque([origin])
        while queue and goal not in routes:
            room = queue.popleft()
            for direction, neighbour in self._moves(room):
                if neighbour not in routes:
                    routes[neighbour] = [*routes[room], direction]
                    queue.append(neighbour)
        return routes

    def _moves(self, room: str) -> list[tuple[str, str]]:
        """The passages to walk: of two said to lead to the same room, only the latest."""
        by_neighbour = {neighbour: way for way, neighbour in self._passages.get(room, {}).items()}
        latest = {way: neighbour for neighbour, way in by_neighbour.items()}
        return [(way, latest[way]) for way in DIRECTIONS if way in latest]

    def _read(self, triplet: Triplet, rooms: frozenset[str] | None) -> None:
        statement = _statement(triplet, None if rooms is None else triplet.object in rooms)
        if statement is None or (rooms is not None and statement.room not in rooms):
            return
        if statement.destination is None or statement.is_exit:
            self._exits.setdefault(statement.room, set()).update(statement.directions)
        if statement.destination is None or (
            rooms is not None and statement.destination not in rooms
        ):
            return
        passages = self._passages.setdefault(statement.room, {})
        for direction in statement.directions:
            # Taken out first so that the order of the dictionary is the order of the facts.
            passages.pop(direction, None)
            passages[direction] = statement.destination


class SpatialFacts:
    """The current facts of a graph that can state a passage or an exit, in order of learning.

    It follows the graph step by step, so that a map costs the spatial facts and not all facts.
    """

    def __init__(self, store: Store) -> None:
        """All current facts of `store`: each is looked at once."""
        current = [fact.id for fact in store.current() if may_be_spatial(fact.triplet)]
        # A fact learned again after it was retired is as late as its last learning.
        current.sort(key=lambda fact_id: (store.history(fact_id)[-1].start, fact_id))
        self._triplets: dict[int, Triplet] = {}
        self.learn(store.fact(fact_id) for fact_id in current)

    def learn(self, facts: Iterable[Fact]) -> None:
        """Facts that have just become current, by id."""
        for fact in facts:
            if may_be_spatial(fact.triplet):
                self._triplets.pop(fact.id, None)
                self._triplets[fact.id] = fact.triplet

    def retire(self, facts: Iterable[Fact]) -> None:
        """Facts that are not current any more."""
        for fact in facts:
            self._triplets.pop(fact.id, None)

    def map(self, rooms: Collection[str] | None) -> SpatialMap:
        """The map of these facts; `rooms` as for `SpatialMap`."""
        return SpatialMap(self._triplets.values(), rooms)


# A map is drawn several times a step, mostly from the same facts.
@lru_cache(maxsize=1 << 16)
def _statement(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
    return read_spatial(triplet, object_is_room)


def direction_triplets(origin: str, direction: str, destination: str) -> tuple[Triplet, ...]:
    """The two triplets of a move, as the paper adds them: `destination, is west of, origin` and
    its inverse. Empty if `direction` names none or the move leads back to where it began.
    """
    start, end, way = normalise(origin), normalise(destination), direction_of(direction)
    if way is None or not start or not end or start == end:
        return ()
    return (
        Triplet(end, f"is {way} of", start),
        Triplet(start, f"is {DIRECTIONS[way]} of", end),
    )
