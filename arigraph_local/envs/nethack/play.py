"""A game being played: what the player sees, remembers and has just been told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from arigraph_local.envs.nethack.console import Reply
from arigraph_local.envs.nethack.grid import NEIGHBOURS, Square, distance
from arigraph_local.envs.nethack.level import LevelMemory
from arigraph_local.envs.nethack.news import Attention, Lookout
from arigraph_local.envs.nethack.paths import distances
from arigraph_local.envs.nethack.places import Place
from arigraph_local.envs.nethack.sight import Item, Kind, Sight, Thing
from arigraph_local.envs.nethack.terrain import Terrain
from arigraph_local.envs.nethack.wording import plain

_LOOK_DOWN = ":"
_GROUND_HERE = {
    "staircase up": Terrain.STAIRS_UP,
    "staircase down": Terrain.STAIRS_DOWN,
    "ladder up": Terrain.LADDER_UP,
    "ladder down": Terrain.LADDER_DOWN,
    "fountain": Terrain.FOUNTAIN,
    "sink": Terrain.SINK,
    "grave": Terrain.GRAVE,
    "opulent throne": Terrain.THRONE,
    "doorway": Terrain.DOORWAY,
    "broken door": Terrain.DOORWAY,
    "open door": Terrain.OPEN_DOOR,
}
_THERE_IS = re.compile(r"There is (?:an? )?(.+?) here\.")
_ONE_THING = re.compile(r"You see here (.+)\.")
_PILE = re.compile(r"Things that are here:")
_NOTHING = re.compile(r"You see no objects here\.")
_HIDDEN_CONDITIONS = frozenset({"blind", "levitating"})


class InterruptedSkillError(Exception):
    """A skill ends before it has done all it was to do; the text says why, as a clause."""


class Screen(Protocol):
    """The game as `Play` needs it; see `Console`."""

    over: bool
    ascended: bool

    def start(self) -> list[str]: ...

    def command(self, keys: str, replies: Sequence[Reply] = ()) -> list[str]: ...

    def sight(self) -> Sight: ...

    def close(self) -> None: ...


class Play:
    """One game. A skill calls `begin`, then `act` for each of its game commands."""

    def __init__(self, screen: Screen, skill_steps: int) -> None:
        self._screen = screen
        self._skill_steps = skill_steps
        self._acts = 0
        self._levels: dict[tuple[int, int], LevelMemory] = {}
        self._lookouts: dict[tuple[int, int], Lookout] = {}
        self.heard = screen.start()
        self.lying_here: tuple[str, ...] = ()
        self._reached: frozenset[Square] | None = None
        self._see(screen.sight())

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self._screen.over

    @property
    def won(self) -> bool:
        """Whether it ended in ascension."""
        return self._screen.ascended

    @property
    def place(self) -> Place:
        """Where the player is."""
        return self.level.here(self.sight)

    def items(self, *categories: str) -> list[Item]:
        """What is carried of these categories; of all without any."""
        return [
            item for item in self.sight.inventory if not categories or item.category in categories
        ]

    def begin(self) -> None:
        """Start a skill: nothing heard, nothing done."""
        self.heard = []
        self._acts = 0

    def act(
        self,
        keys: str,
        replies: Sequence[Reply] = (),
        attention: Attention = Attention.WALKING,
    ) -> list[str]:
        """One command of the game; returns its messages, which are also kept in `heard`.

        Raises `InterruptedSkillError` when the game ends, the level changes, there is news, or
        the skill has taken its share of commands.
        """
        if self._acts >= self._skill_steps:
            raise InterruptedSkillError("you have been at it for a long time")
        self._acts += 1
        before, level = self.sight, self.level
        messages = self._screen.command(keys, replies)
        self.heard += messages
        if self.over:
            raise InterruptedSkillError("the game is over")
        self._see(self._screen.sight())
        news = self._lookout.news(before, self.sight, messages, attention)
        if self.level is not level:
            raise InterruptedSkillError(f"you arrive on {self.level.name}")
        if news:
            raise InterruptedSkillError(news)
        return messages

    def look_down(self) -> None:
        """Find out what lies underfoot, which the map does not show. Takes no game time."""
        self.lying_here = ()
        blind = not _HIDDEN_CONDITIONS.isdisjoint(self.sight.vitals.conditions)
        if self.over or blind or self.sight.swallowed:
            return
        seen = self._screen.command(_LOOK_DOWN)
        things, rest = _things_here(seen)
        self.lying_here = tuple(things)
        for line in rest:
            found = _THERE_IS.fullmatch(line)
            terrain = _ground_named(found[1]) if found else None
            if terrain is not None:
                self.level.learn_ground(self.sight.hero, terrain)
                self._reached = None
            elif line not in self.heard:
                self.heard.append(line)

    def reached(self) -> frozenset[Square]:
        """Every square that the player can walk to now, as far as he knows."""
        if self._reached is None:
            footing = self.level.footing(self.sight, daring=True)
            self._reached = frozenset(distances(footing, self.sight.hero))
        return self._reached

    def can_reach(self, squares: Iterable[Square]) -> bool:
        """Whether the player knows a way to one of these squares, or to beside it."""
        reached = self.reached()
        return any(
            square in reached or not reached.isdisjoint(NEIGHBOURS[square]) for square in squares
        )

    def close(self) -> None:
        """Free the game."""
        self._screen.close()

    def _see(self, sight: Sight) -> None:
        vitals = sight.vitals
        self.sight = sight
        self._reached = None
        key = (vitals.branch, vitals.depth)
        if key not in self._levels:
            self._levels[key] = LevelMemory(*key)
            self._lookouts[key] = Lookout(sight)
        self.level = self._levels[key]
        self._lookout = self._lookouts[key]
        self.level.look(sight)


def _things_here(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The objects that a look down names, and its other lines, which are sentences."""
    things: list[str] = []
    rest: list[str] = []
    in_pile = False
    for line in lines:
        one = _ONE_THING.fullmatch(line)
        if _PILE.match(line):
            in_pile = True
        elif one:
            things.append(one[1])
        elif in_pile and not line.endswith((".", "!", "?", '"')):
            things.append(line)
        elif not _NOTHING.fullmatch(line):
            rest.append(line)
    return things, rest


def _ground_named(text: str) -> Terrain | None:
    if text.endswith("altar") or " altar " in text:
        return Terrain.ALTAR
    return _GROUND_HERE.get(text)


def nearest_hostile(play: Play, name: str | None = None) -> Thing | None:
    """The nearest hostile monster in view, of that name if one is given."""
    found = [thing for thing in play.sight.hostile() if name is None or thing.name == name]
    hero = play.sight.hero
    return min(found, key=lambda thing: distance(thing.square, hero), default=None)


def named(things: Sequence[Thing], hero: Square) -> dict[str, Thing]:
    """Each name with the nearest thing that bears it, nearest first."""
    found: dict[str, Thing] = {}
    for thing in sorted(things, key=lambda one: (distance(one.square, hero), one.square)):
        if thing.kind is not Kind.BOULDER:
            found.setdefault(plain(thing.name), thing)
    return found
