"""The object tree of a Z-machine game, read as a world: rooms, things, the player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from arigraph_local.envs.environment import TrueFact
from arigraph_local.envs.jericho_memory import Bytes, StoryMemory
from arigraph_local.envs.jericho_text import plain_name

PLAYER = "p"

_INFORMS_PLAYER = ("(self object)", "yourself")
_OTHER_PLAYERS = ("cretin", "you", "me", "myself", "self", "player")
_ROOM_VARIABLE = 0
_NO_PLACES = {"class", "compass"}
"""Inform keeps its kinds of things and the directions in the tree as well."""


class ObjectTree:
    """The tree of one game. `player` is the number of the player's object, None if unknown."""

    def __init__(self, memory: StoryMemory, ram: Bytes, player: int | None) -> None:
        self._memory = memory
        self._names = self._distinct_names()
        self.player = player
        if player is None and memory.from_inform:
            self.player = self._named(_INFORMS_PLAYER, ram)

    def location(self, ram: Bytes) -> str | None:
        """The name of the room the player is in."""
        room = self._room(self._memory.parents(ram), ram)
        return self._names[room] or None if room else None

    def things(self, ram: Bytes) -> tuple[str, ...]:
        """The names of what is in the player's room or in something there, the carried first."""
        parents = self._memory.parents(ram)
        room = self._room(parents, ram)
        inside = self._inside(parents, room) if room else iter(())
        return tuple(dict.fromkeys((*self.carried(ram), *self._plain(inside))))

    def carried(self, ram: Bytes) -> tuple[str, ...]:
        """The names of what the player holds."""
        if self.player is None:
            return ()
        return tuple(self._plain(self._inside(self._memory.parents(ram), self.player)))

    def facts(self, ram: Bytes) -> frozenset[TrueFact]:
        """`in(thing, holder)` for everything that something holds."""
        parents = self._memory.parents(ram)
        return frozenset(
            TrueFact("in", (self._name_of(number), self._name_of(parent)))
            for number, parent in enumerate(parents)
            if parent and not self._is_housekeeping(parents, number)
        )

    def find_player(self, before: Bytes, after: Sequence[Bytes]) -> None:
        """Take for the player the object that moved in most of the worlds after a step each way,
        or, where none leads anywhere, one with a player's name."""
        moved: Counter[int] = Counter()
        here = self._memory.parents(before)
        for world in after:
            there = self._memory.parents(world)
            room = self._memory.global_variable(world, _ROOM_VARIABLE)
            moved.update(
                number
                for number, (old, new) in enumerate(zip(here, there, strict=True))
                if old
                and new != old
                and (new == room or (new and not self._memory.has_status_line))
            )
        most = max(moved.values(), default=0)
        likely = [number for number, times in moved.items() if times == most]
        self.player = min(likely) if likely else self._named(_OTHER_PLAYERS, before)

    def _distinct_names(self) -> tuple[str, ...]:
        names = [plain_name(name) for name in self._memory.names]
        often = Counter(names)
        return tuple(
            f"{name} {number}" if name and often[name] > 1 else name
            for number, name in enumerate(names)
        )

    def _named(self, names: Sequence[str], ram: Bytes) -> int | None:
        """An object of one of the names that something holds: the room, if the game tells it."""
        parents = self._memory.parents(ram)
        room = self._memory.global_variable(ram, _ROOM_VARIABLE)
        held = {
            plain_name(name): number
            for number, name in enumerate(self._memory.names)
            if parents[number] and (parents[number] == room or not self._memory.has_status_line)
        }
        return next((held[name] for name in names if name in held), None)

    def _room(self, parents: Sequence[int], ram: Bytes) -> int | None:
        """Of what holds the player: the one that the game calls the room; else, in a game by
        Inform, the outermost; else the innermost."""
        held_by = list(self._holders(parents, self.player)) if self.player else []
        told = self._memory.global_variable(ram, _ROOM_VARIABLE)
        if told in held_by or (self._memory.has_status_line and 0 < told < len(parents)):
            return told
        if not held_by:
            return None
        return held_by[-1] if self._memory.from_inform else held_by[0]

    @staticmethod
    def _holders(parents: Sequence[int], number: int) -> Iterator[int]:
        seen = {number, 0}
        while (number := parents[number]) not in seen:
            seen.add(number)
            yield number

    def _inside(self, parents: Sequence[int], holder: int) -> Iterator[int]:
        for number, parent in enumerate(parents):
            if parent == holder and number not in (self.player, holder):
                yield number
                yield from self._inside(parents, number)

    def _plain(self, numbers: Iterator[int]) -> Iterator[str]:
        """Names as a player would type them, without the numbers that tell twins apart."""
        for number in numbers:
            if name := plain_name(self._memory.names[number]):
                yield name

    def _name_of(self, number: int) -> str:
        if number == self.player:
            return PLAYER
        return self._names[number] or f"object {number}"

    def _is_housekeeping(self, parents: Sequence[int], number: int) -> bool:
        if not self._memory.from_inform:
            return False
        return any(self._names[holder] in _NO_PLACES for holder in self._holders(parents, number))
