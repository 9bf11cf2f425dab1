"""The arrays that the NetHack Learning Environment gives, read as a `Sight`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arigraph_local.envs.nethack.grid import Square, square_at
from arigraph_local.envs.nethack.sight import Item, Kind, Sight, Thing, Vitals
from arigraph_local.envs.nethack.terrain import Terrain

Arrays = Mapping[str, npt.NDArray[Any]]

_GROUND_BY_NAME = {
    "wall": Terrain.WALL,
    "floor of a room": Terrain.FLOOR,
    "dark part of a room": Terrain.FLOOR,
    "corridor": Terrain.CORRIDOR,
    "lit corridor": Terrain.CORRIDOR,
    "doorway": Terrain.DOORWAY,
    "open door": Terrain.OPEN_DOOR,
    "closed door": Terrain.CLOSED_DOOR,
    "iron bars": Terrain.BARS,
    "tree": Terrain.TREE,
    "staircase up": Terrain.STAIRS_UP,
    "staircase down": Terrain.STAIRS_DOWN,
    "ladder up": Terrain.LADDER_UP,
    "ladder down": Terrain.LADDER_DOWN,
    "altar": Terrain.ALTAR,
    "grave": Terrain.GRAVE,
    "opulent throne": Terrain.THRONE,
    "sink": Terrain.SINK,
    "fountain": Terrain.FOUNTAIN,
    "water": Terrain.WATER,
    "ice": Terrain.ICE,
    "molten lava": Terrain.LAVA,
    "lowered drawbridge": Terrain.BRIDGE,
    "raised drawbridge": Terrain.WALL,
    "air": Terrain.AIR,
    "cloud": Terrain.AIR,
}
"""The game's own explanation of a map symbol -> what it is to a walker."""

_CATEGORIES = (
    *("", "", "weapon", "armour", "ring", "amulet", "tool", "food", "potion", "scroll"),
    *("spellbook", "wand", "coin", "gem", "rock", "ball", "chain", "venom", ""),
)
_HUNGER = ("satiated", "not hungry", "hungry", "weak", "fainting", "fainted", "starved")
_BURDEN = ("", "burdened", "stressed", "strained", "overtaxed", "overloaded")
_CONDITIONS = (
    *("turning to stone", "turning to slime", "strangled", "food poisoned", "terminally ill"),
    *("blind", "deaf", "stunned", "confused", "hallucinating", "levitating", "flying", "riding"),
)
_ATTITUDE = re.compile(r"^(?:tame|peaceful) ")
_CALLED = re.compile(r" called .*$")

_BOULDER = "a boulder"

_OBJECT, _MONSTER, _PET, _UNKNOWN, _TRAP, _SWALLOWED = range(1, 7)


class GlyphReader:
    """Reads observations; it needs the `nle` package for its tables of glyphs."""

    def __init__(self) -> None:
        from nle import nethack

        self._ground = np.zeros(nethack.MAX_GLYPH + 1, dtype=np.uint8)
        self._kind = np.zeros(nethack.MAX_GLYPH + 1, dtype=np.uint8)
        for glyph in range(nethack.MAX_GLYPH):
            self._sort_in(nethack, glyph)

    def read(self, arrays: Arrays) -> Sight:
        """What these arrays show. Nothing of them is kept."""
        glyphs = arrays["glyphs"]
        numbers = arrays["blstats"]
        hero = square_at(int(numbers[1]), int(numbers[0]))
        kinds = self._kind[glyphs]
        return Sight(
            hero=hero,
            ground=self._ground[glyphs].tobytes(),
            things=tuple(self._things(kinds, arrays["screen_descriptions"], hero)),
            vitals=_vitals(numbers),
            inventory=tuple(_inventory(arrays)),
            swallowed=bool((kinds == _SWALLOWED).any()),
        )

    def _sort_in(self, nethack: Any, glyph: int) -> None:
        if nethack.glyph_is_swallow(glyph):
            self._kind[glyph] = _SWALLOWED
        elif nethack.glyph_is_trap(glyph):
            self._kind[glyph], self._ground[glyph] = _TRAP, Terrain.TRAP
        elif nethack.glyph_is_cmap(glyph):
            symbol = nethack.glyph_to_cmap(glyph)
            # Symbol 0 is what has not been seen, although the game calls it part of a room.
            what = nethack.symdef.from_idx(symbol).explanation if symbol else ""
            self._ground[glyph] = _GROUND_BY_NAME.get(what, Terrain.UNSEEN)
        elif nethack.glyph_is_pet(glyph):
            self._kind[glyph], self._ground[glyph] = _PET, Terrain.COVERED
        elif nethack.glyph_is_invisible(glyph) or nethack.glyph_is_warning(glyph):
            self._kind[glyph], self._ground[glyph] = _UNKNOWN, Terrain.COVERED
        elif nethack.glyph_is_monster(glyph):
            self._kind[glyph], self._ground[glyph] = _MONSTER, Terrain.COVERED
        elif any(
            is_one(glyph)
            for is_one in (nethack.glyph_is_object, nethack.glyph_is_body, nethack.glyph_is_statue)
        ):
            self._kind[glyph], self._ground[glyph] = _OBJECT, Terrain.COVERED

    def _things(
        self, kinds: npt.NDArray[np.uint8], descriptions: npt.NDArray[np.uint8], hero: Square
    ) -> list[Thing]:
        things = []
        for row, column in np.argwhere((kinds > 0) & (kinds < _SWALLOWED)).tolist():
            square = square_at(row, column)
            if square != hero:
                name = _text(descriptions[row, column])
                things.append(_thing(square, int(kinds[row, column]), name))
        return things


def _thing(square: Square, kind: int, described: str) -> Thing:
    name = _CALLED.sub("", _ATTITUDE.sub("", described))
    if kind == _TRAP:
        return Thing(square, Kind.TRAP, name)
    if kind == _OBJECT:
        return Thing(square, Kind.BOULDER if name == _BOULDER else Kind.OBJECT, name)
    if kind == _UNKNOWN:
        return Thing(square, Kind.UNKNOWN_MONSTER, "unseen monster")
    if kind == _PET:
        return Thing(square, Kind.PET, name)
    peaceful = described.startswith("peaceful ")
    return Thing(square, Kind.PEACEFUL if peaceful else Kind.HOSTILE, name)


def _text(letters: npt.NDArray[np.uint8]) -> str:
    return bytes(letters).split(b"\0", 1)[0].decode("latin-1").strip()


def _inventory(arrays: Arrays) -> list[Item]:
    items = []
    for letter, name, category in zip(
        arrays["inv_letters"], arrays["inv_strs"], arrays["inv_oclasses"], strict=True
    ):
        if letter:
            items.append(Item(chr(letter), _text(name), _CATEGORIES[int(category)]))
    return items


def _vitals(numbers: npt.NDArray[Any]) -> Vitals:
    (_, _, _, _, _, _, _, _, _, score, hp, max_hp, depth, gold, power, max_power) = (
        int(number) for number in numbers[:16]
    )
    (ac, _, experience, _, turn, hunger, burden, branch, level, conditions) = (
        int(number) for number in numbers[16:26]
    )
    return Vitals(
        hp=hp,
        max_hp=max_hp,
        power=power,
        max_power=max_power,
        armour_class=ac,
        experience_level=experience,
        gold=gold,
        hunger=_HUNGER[hunger],
        burden=_BURDEN[burden],
        conditions=tuple(name for bit, name in enumerate(_CONDITIONS) if conditions >> bit & 1),
        turn=turn,
        depth=depth,
        branch=branch,
        level=level,
        score=score,
    )
