"""What the facts of a TextWorld game say: where things are, what is open, where exits lead."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush

from arigraph_local.envs.environment import TrueFact

PLAYER = "p"
INVENTORY = "i"

_CONDITIONS = frozenset({"open", "closed", "locked"})
_PLACED = frozenset({"at", "on", "in"})
_DIRECTION = "_of"


@dataclass(frozen=True)
class Route:
    """A shortest way to a room: how many commands it takes, and the first; None when there."""

    length: int
    first: str | None


class WorldState:
    """An index of the facts of one moment. All names are lower-case.

    `location` is the player's room, None if the facts give none. `holders[thing]` is the room,
    supporter or container that the thing is directly in, or `INVENTORY`; `placing[thing]` is
    `at`, `on` or `in`; `twice` lists things that are in two places. `conditions[thing]` holds
    what is said of it among open, closed and locked. `exits[room][direction]` is the room there,
    if nothing is in the way. `doors[room]` are its doors.
    """

    def __init__(self, facts: Iterable[TrueFact]) -> None:
        self.location: str | None = None
        self.rooms: set[str] = set()
        self.holders: dict[str, str] = {}
        self.placing: dict[str, str] = {}
        self.twice: list[str] = []
        self.conditions: dict[str, set[str]] = {}
        self.exits: dict[str, dict[str, str]] = {}
        self.doors: dict[str, set[str]] = {}
        self._door_between: dict[tuple[str, str], str] = {}
        self._ways: dict[str, list[tuple[str, str]]] = {}
        free: set[tuple[str, str]] = set()
        ways: list[tuple[str, str, str]] = []
        for fact in facts:
            predicate, names = fact.predicate, fact.arguments
            if predicate in _PLACED and len(names) == 2:
                self._place(predicate, *names)
            elif predicate in _CONDITIONS and len(names) == 1:
                self.conditions.setdefault(names[0], set()).add(predicate)
            elif predicate == "free" and len(names) == 2:
                free.add((names[0], names[1]))
            elif predicate == "link" and len(names) == 3:
                self.doors.setdefault(names[0], set()).add(names[1])
                self._door_between[names[0], names[2]] = names[1]
            elif predicate.endswith(_DIRECTION) and len(names) == 2:
                ways.append((names[1], predicate.removesuffix(_DIRECTION), names[0]))
        for room, direction, there in ways:
            self.rooms.add(room)
            self.exits.setdefault(room, {})
            self._ways.setdefault(room, []).append((direction, there))
            if (room, there) in free:
                self.exits[room][direction] = there

    def _place(self, predicate: str, thing: str, holder: str) -> None:
        if predicate == "at":
            self.rooms.add(holder)
        if thing == PLAYER:
            self.location = holder
            return
        if thing in self.holders:
            self.twice.append(thing)
        self.holders[thing] = holder
        self.placing[thing] = predicate

    @property
    def held(self) -> frozenset[str]:
        """What the player carries."""
        return frozenset(thing for thing, holder in self.holders.items() if holder == INVENTORY)

    def room_of(self, thing: str) -> str | None:
        """The room the thing is in, at whatever depth; None if it is carried or nowhere."""
        place: str | None = thing
        while place in self.holders:
            place = self.holders[place]
        return place if place in self.rooms else None

    def is_closed(self, thing: str) -> bool:
        """Whether the thing is a container that must be opened first."""
        return bool(self.conditions.get(thing, set()) & {"closed", "locked"})

    def in_sight(self, room: str) -> frozenset[str]:
        """What a player in `room` sees there: things, what lies on them or in open ones, doors."""
        return frozenset(self._in_sight(room)) | frozenset(self.doors.get(room, ()))

    def _in_sight(self, room: str) -> Iterator[str]:
        contents: dict[str, list[str]] = {}
        for thing, holder in self.holders.items():
            contents.setdefault(holder, []).append(thing)
        waiting = deque(contents.get(room, ()))
        while waiting:
            thing = waiting.popleft()
            yield thing
            inside = contents.get(thing, ())
            opened = "open" in self.conditions.get(thing, ())
            waiting.extend(one for one in inside if self.placing[one] == "on" or opened)

    def routes(self, start: str) -> dict[str, Route]:
        """A shortest route from `start` to each room that can be reached, closed doors being
        opened on the way (Dijkstra). Of equal ones, the first by the names of rooms and commands.
        """
        routes: dict[str, Route] = {}
        queue: list[tuple[int, str, str]] = [(0, start, "")]
        while queue:
            length, room, first = heappop(queue)
            if room in routes:
                continue
            routes[room] = Route(length, first or None)
            for direction, there in self._ways.get(room, ()):
                door = self._door_between.get((room, there), "")
                opening = (f"open {door}",) if self.is_closed(door) else ()
                commands = (*opening, f"go {direction}")
                if there not in routes:
                    heappush(queue, (length + len(commands), there, first or commands[0]))
        return routes


@cache
def whole_word(name: str) -> re.Pattern[str]:
    """Finds a name in lower-case text, not as a part of a longer word."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def names_in(text: str, names: Iterable[str]) -> tuple[list[str], str]:
    """Which of the names a lower-case text holds, each as often as it does, longest names first,
    and the text with `*` in the place of each: a name within a longer one is not counted."""
    found: list[str] = []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        text, count = whole_word(name).subn("*", text)
        found += [name] * count
    return found, text
