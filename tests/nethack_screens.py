"""Small dungeons drawn with letters, for the tests of NetHack that need no NetHack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arigraph_local.envs.nethack.console import Reply
from arigraph_local.envs.nethack.grid import KEYS, NEIGHBOURS, SQUARES, Square, square_at, towards
from arigraph_local.envs.nethack.paths import Footing
from arigraph_local.envs.nethack.sight import Item, Kind, Sight, Thing, Vitals
from arigraph_local.envs.nethack.terrain import DOORS, WALKABLE, Terrain

GROUND = {
    " ": Terrain.UNSEEN,
    ".": Terrain.FLOOR,
    "-": Terrain.WALL,
    "|": Terrain.WALL,
    "#": Terrain.CORRIDOR,
    "D": Terrain.DOORWAY,
    "O": Terrain.OPEN_DOOR,
    "+": Terrain.CLOSED_DOOR,
    "<": Terrain.STAIRS_UP,
    ">": Terrain.STAIRS_DOWN,
    "{": Terrain.FOUNTAIN,
    "~": Terrain.WATER,
    "^": Terrain.TRAP,
}
THINGS = {
    "j": (Kind.HOSTILE, "jackal"),
    "n": (Kind.HOSTILE, "newt"),
    "f": (Kind.PET, "kitten"),
    "p": (Kind.PEACEFUL, "gnome"),
    "0": (Kind.BOULDER, "a boulder"),
    "%": (Kind.OBJECT, "a food ration"),
    ")": (Kind.OBJECT, "a dagger"),
    "^": (Kind.TRAP, "trap door"),
}


def vitals(**changed: object) -> Vitals:
    usual: dict[str, object] = {
        "hp": 16,
        "max_hp": 16,
        "power": 2,
        "max_power": 2,
        "armour_class": 6,
        "experience_level": 1,
        "gold": 0,
        "hunger": "not hungry",
        "burden": "",
        "conditions": (),
        "turn": 1,
        "depth": 1,
        "branch": 0,
        "level": 1,
        "score": 0,
    }
    return Vitals(**{**usual, **changed})  # type: ignore[arg-type]


def find(rows: Sequence[str], letter: str) -> Square:
    """Where a letter stands in a drawing, whose top left corner is row 1, column 0."""
    for row, line in enumerate(rows, start=1):
        if letter in line:
            return square_at(row, line.index(letter))
    raise AssertionError(f"no {letter} in the drawing")


def drawn(rows: Sequence[str], **changed: object) -> Sight:
    """What is seen of a drawing: all of it, with the player at `@`."""
    ground = bytearray(SQUARES)
    things = []
    for row, line in enumerate(rows, start=1):
        for column, letter in enumerate(line):
            square = square_at(row, column)
            # As in the game, the player too hides the ground that he stands on.
            ground[square] = GROUND.get(letter, Terrain.COVERED)
            if letter in THINGS:
                things.append(Thing(square, *THINGS[letter]))
    return Sight(find(rows, "@"), bytes(ground), tuple(things), vitals(**changed), ())


@dataclass
class DrawnGame:
    """A game on a drawing, as `Play` wants it: the player walks, and sees what is beside him.

    `underfoot` is what a look down tells. `heard` are messages to come, by the number of the
    command, from 1; `seen` things to come.
    """

    rows: Sequence[str]
    heard: dict[int, str] = field(default_factory=dict)
    seen: dict[int, Thing] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    underfoot: Sequence[str] = ("You see no objects here.",)
    over: bool = False
    ascended: bool = False

    def __post_init__(self) -> None:
        self._whole = drawn(self.rows)
        self._hero = self._whole.hero
        self._known: set[Square] = set()
        self._things = list(self._whole.things)
        self._turn = 1
        self.commands: list[str] = []

    def start(self) -> list[str]:
        return ["Welcome."]

    def command(self, keys: str, replies: Sequence[Reply] = ()) -> list[str]:
        if keys == ":":
            return list(self.underfoot)
        self.commands.append(keys)
        number = len(self.commands)
        if number in self.seen:
            self._things.append(self.seen[number])
        for direction, key in KEYS.items():
            if key == keys:
                self._move(towards(self._hero, direction))
        if keys == "o":
            self._turn += 1
        if keys.endswith("s"):
            self._turn += 10
        return [self.heard[number]] if number in self.heard else []

    def sight(self) -> Sight:
        ground = bytearray(SQUARES)
        self._known |= {self._hero, *NEIGHBOURS[self._hero]}
        for square in self._known:
            ground[square] = self._whole.ground[square]
        return Sight(
            hero=self._hero,
            ground=bytes(ground),
            things=tuple(thing for thing in self._things if thing.square in self._known),
            vitals=vitals(turn=self._turn),
            inventory=self.items,
        )

    def close(self) -> None:
        self.over = True

    def _move(self, square: Square | None) -> None:
        walkable = bytes(terrain in WALKABLE for terrain in self._whole.ground)
        doors = bytes(terrain in DOORS for terrain in self._whole.ground)
        if square in Footing(walkable, doors).steps(self._hero):
            assert square is not None
            self._hero = square
            self._turn += 1
