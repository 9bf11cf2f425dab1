"""Plays a Treasure Hunt by its true state, from wherever an episode stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from arigraph_local.envs.environment import Observation, TrueFact

TREASURE = "treasure"

_DIRECTIONS = ("north", "east", "south", "west")
_PLAYER = "p"
_INVENTORY = "i"


class HuntOracle:
    """Takes the treasure by the shortest chain of keys that is still needed.

    That wins every point: no key can be reached but through the one before it, so that each has
    been in hand by the time the treasure is. Things that were dropped, put away or locked in
    again are fetched from where they are.
    """

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        """The next of the valid actions on the way to the treasure; None when it is taken."""
        if observation.done:
            return None
        wanted = _State(facts).action_to_hold(TREASURE)
        offered = {action.lower(): action for action in observation.valid_actions}
        return None if wanted is None else offered.get(wanted)


class _State:
    """The facts, by what is asked of them."""

    def __init__(self, facts: Iterable[TrueFact]) -> None:
        self._facts = frozenset(facts)
        self._place: dict[str, tuple[str, str]] = {}
        self._key_of: dict[str, str] = {}
        self._doors: dict[tuple[str, str], str] = {}
        self._exits: dict[str, dict[str, str]] = {}
        # In a fixed order, so that of two ways of the same length always the same is taken.
        for fact in sorted(self._facts, key=str):
            self._note(fact.predicate, fact.arguments)

    def _note(self, predicate: str, arguments: tuple[str, ...]) -> None:
        direction = predicate.removesuffix("_of")
        if predicate in ("at", "in", "on"):
            self._place[arguments[0]] = (predicate, arguments[1])
        elif predicate == "match":
            self._key_of[arguments[1]] = arguments[0]
        elif predicate == "link":
            self._doors[arguments[0], arguments[2]] = arguments[1]
        elif direction in _DIRECTIONS:
            # north_of(a, b): a lies north of b.
            self._exits.setdefault(arguments[1], {})[direction] = arguments[0]

    def action_to_hold(self, thing: str) -> str | None:
        """The next action until `thing` is carried; None if it is, or is nowhere."""
        how, place = self._place.get(thing, ("", ""))
        if not how or place == _INVENTORY:
            return None
        if how == "at":
            return self._action_to_be_in(place) or f"take {thing}"
        if how == "in" and not self._is("open", place):
            return self._action_to_open(place)
        return self._action_to_be_in(self._room_of(place)) or f"take {thing} from {place}"

    def _action_to_open(self, container: str) -> str | None:
        """The next action until a closed or locked container is open; None if no key opens it."""
        move = self._action_to_be_in(self._room_of(container))
        if not self._is("locked", container):
            return move or f"open {container}"
        key = self._key_of.get(container)
        if key is None:
            return None
        return self.action_to_hold(key) or move or f"unlock {container} with {key}"

    def _action_to_be_in(self, room: str) -> str | None:
        """The first move of a shortest way there, or the opening of its door; None when there."""
        here = self._place[_PLAYER][1]
        if here == room:
            return None
        direction, neighbour = self._first_move(here, room)
        door = self._doors.get((here, neighbour))
        shut = door is not None and not self._is("open", door)
        return f"open {door}" if shut else f"go {direction}"

    def _first_move(self, start: str, end: str) -> tuple[str, str]:
        """Direction and room of the first move. Raises `LookupError` if no way leads there."""
        first = {room: (direction, room) for direction, room in self._exits.get(start, {}).items()}
        queue = deque(first)
        while queue:
            room = queue.popleft()
            if room == end:
                return first[room]
            for neighbour in self._exits.get(room, {}).values():
                if neighbour not in first and neighbour != start:
                    first[neighbour] = first[room]
                    queue.append(neighbour)
        raise LookupError(f"no way leads from {start} to {end}")

    def _room_of(self, thing: str) -> str:
        how, place = self._place[thing]
        return place if how == "at" else self._room_of(place)

    def _carried(self, thing: str) -> bool:
        return self._place.get(thing) == ("in", _INVENTORY)

    def _is(self, state: str, thing: str) -> bool:
        return TrueFact(state, (thing,)) in self._facts
