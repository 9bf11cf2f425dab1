"""What the player sees at one moment: the screen as plain data, without the game's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arigraph_local.envs.nethack.grid import Square


class Kind(StrEnum):
    """What a thing on the map is to the player."""

    HOSTILE = "hostile"
    PEACEFUL = "peaceful"
    PET = "pet"
    UNKNOWN_MONSTER = "unknown monster"
    OBJECT = "object"
    BOULDER = "boulder"
    TRAP = "trap"


MONSTERS = frozenset({Kind.HOSTILE, Kind.PEACEFUL, Kind.PET, Kind.UNKNOWN_MONSTER})


@dataclass(frozen=True)
class Thing:
    """Something on a square. `name` is as the game describes it: objects with an article or a
    number, monsters without."""

    square: Square
    kind: Kind
    name: str


@dataclass(frozen=True)
class Item:
    """Something carried: its letter, what the game calls it, and its class (`weapon`, `food`…)."""

    letter: str
    name: str
    category: str


@dataclass(frozen=True)
class Vitals:
    """The two lines at the bottom of the screen.

    `depth` counts dungeon levels from the surface; `branch` and `level` name the level within the
    dungeon (branch 0 is the main one). `turn` is in game turns, `score` in the game's points.
    """

    hp: int
    max_hp: int
    power: int
    max_power: int
    armour_class: int
    experience_level: int
    gold: int
    hunger: str
    burden: str
    conditions: tuple[str, ...]
    turn: int
    depth: int
    branch: int
    level: int
    score: int


@dataclass(frozen=True)
class Sight:
    """The map around the player at `hero`.

    `ground` has one `Terrain` for every square, `COVERED` where something lies or stands on it.
    `swallowed` when a monster has engulfed the player: then the map is not to be seen.
    """

    hero: Square
    ground: bytes
    things: tuple[Thing, ...]
    vitals: Vitals
    inventory: tuple[Item, ...]
    swallowed: bool = False

    def monsters(self) -> list[Thing]:
        """Everything alive in view, the player apart."""
        return [thing for thing in self.things if thing.kind in MONSTERS]

    def hostile(self) -> list[Thing]:
        """What would attack, or may."""
        return [
            thing for thing in self.things if thing.kind in (Kind.HOSTILE, Kind.UNKNOWN_MONSTER)
        ]
