"""What of a change on the screen should make a player look up from what he is doing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import Enum

from arigraph_local.envs.nethack.grid import distance
from arigraph_local.envs.nethack.sight import Kind, Sight, Thing
from arigraph_local.envs.nethack.wording import a, counted

_LOW = 3
"""Hit points below one in so many are an emergency."""

_FORGOTTEN_AFTER = 20
"""Turns after which a monster that comes back into view is news again."""

_NO_NEWS = re.compile(
    r"You see here|There (?:is|are) |You see no objects|You swap places|You stop\.|You hear "
    r"|With great effort you move|You have a little trouble|Things that are here|\w - "
    r"|You find |You try to move the boulder|The door opens|You read: |Something is written"
)


class Attention(Enum):
    """How much it takes to interrupt a skill."""

    WALKING = "anything new"
    WORKING = "monsters and wounds, but no message"
    FIGHTING = "other monsters, and few hit points left"


class Lookout:
    """Remembers what has been seen on a level, so as to tell what is new. `first` is the first
    sight of it: nothing of that is."""

    def __init__(self, first: Sight) -> None:
        self._met: dict[str, tuple[int, int]] = {}
        self._noticed: set[tuple[int, str]] = set()
        self._came_into_view(first)
        self._new_objects(first)

    def news(
        self, before: Sight, after: Sight, messages: Iterable[str], attention: Attention
    ) -> str | None:
        """Why to stop, as a clause such as `a newt comes into view`; None to go on."""
        came = self._came_into_view(after)
        objects = self._new_objects(after)
        if is_emergency(after) and not is_emergency(before):
            return "you have few hit points left"
        if came:
            return came
        if attention is Attention.FIGHTING:
            return None
        lost = before.vitals.hp - after.vitals.hp
        if lost > 0:
            return f"you lose {counted(lost, 'hit point')}"
        beside = _beside(after) - _beside(before)
        if beside:
            return f"{a(min(beside))} is next to you"
        if attention is Attention.WORKING:
            return None
        if objects:
            return f"you see {objects}"
        if after.vitals.hunger != before.vitals.hunger:
            return f"you are {after.vitals.hunger}"
        pets = {
            thing.name
            for seen in (before, after)
            for thing in seen.things
            if thing.kind is Kind.PET
        }
        if any(not _is_no_news(message, pets) for message in messages):
            return "something happens"
        return None

    def _came_into_view(self, after: Sight) -> str | None:
        turn = after.vitals.turn
        counts = Counter(thing.name for thing in after.monsters() if thing.kind is not Kind.PET)
        hostile = {thing.name for thing in after.hostile()}
        new = None
        for name, count in counts.items():
            seen_at, seen = self._met.get(name, (-_FORGOTTEN_AFTER, 0))
            recent = turn - seen_at < _FORGOTTEN_AFTER if name in hostile else seen > 0
            if not recent or (count > seen and name in hostile):
                new = new or f"{a(name)} comes into view"
                seen = count
            self._met[name] = (turn, max(count, seen) if recent else count)
        return new

    def _new_objects(self, after: Sight) -> str | None:
        new = [
            thing
            for thing in after.things
            if _is_of_note(thing) and (thing.square, thing.name) not in self._noticed
        ]
        self._noticed.update((thing.square, thing.name) for thing in new)
        return a(new[0].name) if new else None


def is_emergency(sight: Sight) -> bool:
    """Whether so few hit points are left that the next blows may kill."""
    vitals = sight.vitals
    return vitals.hp * _LOW <= vitals.max_hp


def _is_no_news(message: str, pets: set[str]) -> bool:
    """Whether the message is of an everyday kind, or of what a pet does."""
    return bool(_NO_NEWS.match(message)) or any(pet in message for pet in pets)


def _is_of_note(thing: Thing) -> bool:
    return thing.kind is Kind.OBJECT or thing.kind is Kind.TRAP


def _beside(sight: Sight) -> set[str]:
    return {thing.name for thing in sight.hostile() if distance(thing.square, sight.hero) == 1}
