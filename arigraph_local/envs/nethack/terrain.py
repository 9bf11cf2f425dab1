"""What the ground of a square can be, and what that means for walking."""

from __future__ import annotations

from enum import IntEnum


class Terrain(IntEnum):
    """The ground of one square.

    `UNSEEN` is also solid rock: the game shows both as nothing. `COVERED` is ground that has only
    been seen with something on it.
    """

    UNSEEN = 0
    COVERED = 1
    WALL = 2
    FLOOR = 3
    CORRIDOR = 4
    DOORWAY = 5
    OPEN_DOOR = 6
    CLOSED_DOOR = 7
    STAIRS_UP = 8
    STAIRS_DOWN = 9
    LADDER_UP = 10
    LADDER_DOWN = 11
    ALTAR = 12
    GRAVE = 13
    THRONE = 14
    SINK = 15
    FOUNTAIN = 16
    ICE = 17
    BRIDGE = 18
    WATER = 19
    LAVA = 20
    TREE = 21
    BARS = 22
    AIR = 23
    TRAP = 24


FEATURES = {
    Terrain.STAIRS_UP: "staircase up",
    Terrain.STAIRS_DOWN: "staircase down",
    Terrain.LADDER_UP: "ladder up",
    Terrain.LADDER_DOWN: "ladder down",
    Terrain.ALTAR: "altar",
    Terrain.GRAVE: "grave",
    Terrain.THRONE: "throne",
    Terrain.SINK: "sink",
    Terrain.FOUNTAIN: "fountain",
    Terrain.TREE: "tree",
    Terrain.BRIDGE: "drawbridge",
}
"""Ground that is worth a word, with its name."""

WAYS_UP = frozenset({Terrain.STAIRS_UP, Terrain.LADDER_UP})
WAYS_DOWN = frozenset({Terrain.STAIRS_DOWN, Terrain.LADDER_DOWN})
DOORS = frozenset({Terrain.DOORWAY, Terrain.OPEN_DOOR, Terrain.CLOSED_DOOR})
ROOM_GROUND = frozenset(
    {
        Terrain.FLOOR,
        Terrain.STAIRS_UP,
        Terrain.STAIRS_DOWN,
        Terrain.LADDER_UP,
        Terrain.LADDER_DOWN,
        Terrain.ALTAR,
        Terrain.GRAVE,
        Terrain.THRONE,
        Terrain.SINK,
        Terrain.FOUNTAIN,
        Terrain.ICE,
        Terrain.WATER,
        Terrain.LAVA,
        Terrain.TREE,
        Terrain.TRAP,
    }
)
"""Ground that belongs to the room around it."""

WALKABLE = (
    ROOM_GROUND - {Terrain.WATER, Terrain.LAVA, Terrain.TREE, Terrain.TRAP}
    | {Terrain.COVERED, Terrain.CORRIDOR, Terrain.BRIDGE}
    | {Terrain.DOORWAY, Terrain.OPEN_DOOR}
)
"""Ground that can be walked on without harm."""
