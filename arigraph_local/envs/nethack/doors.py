"""Skills for closed doors: to open and to kick them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from arigraph_local.envs.nethack.console import KICK, Reply
from arigraph_local.envs.nethack.grid import (
    KEYS,
    NEIGHBOURS,
    STRAIGHT_NEIGHBOURS,
    Square,
    direction_to,
)
from arigraph_local.envs.nethack.news import Attention
from arigraph_local.envs.nethack.play import Play
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.steps import walk_to
from arigraph_local.envs.nethack.terrain import Terrain

_OPEN = "o"
_OPEN_TRIES, _KICK_TRIES = 6, 12
_NO_LONGER_CLOSED = re.compile(r"already open|door is broken|no door")
_SHOP_SIGN = "Closed for inventory"


def door_skills(play: Play) -> list[Skill]:
    """To open each closed door of this place, and to kick those known to be locked."""
    skills = []
    for square, name in closed_doors_here(play).items():
        if square in play.level.locked:
            skills.append(Skill(f"kick {name}", partial(kick_door, square=square, name=name)))
        else:
            skills.append(Skill(f"open {name}", partial(open_door, square=square, name=name)))
    return skills


def closed_doors_here(play: Play) -> dict[Square, str]:
    """The closed doors of the room, or those beside one in a corridor, with their names."""
    closed = set(play.level.closed_doors())
    found = {
        one.square: one.name
        for one in play.level.places.exits(play.level.ground, play.place)
        if one.square in closed
    }
    for square in STRAIGHT_NEIGHBOURS[play.sight.hero]:
        if square in closed and square not in found:
            found[square] = f"door to the {direction_to(play.sight.hero, square)}"
    return found


def open_door(play: Play, *, square: Square, name: str) -> str:
    """Walk to a door and open it; a locked one is remembered as such."""
    blocked = _go_beside(play, square, STRAIGHT_NEIGHBOURS[square])
    if blocked:
        return blocked.format(name=name)
    for _ in range(_OPEN_TRIES):
        messages = play.act(_OPEN, [_direction(play, square)], Attention.WORKING)
        if any(_NO_LONGER_CLOSED.search(message) for message in messages):
            play.level.learn_ground(square, Terrain.OPEN_DOOR)
        if not _is_closed(play, square):
            return f"you open the {name}"
        if any("locked" in message for message in messages):
            play.level.locked.add(square)
            return f"the {name} is locked"
    return f"the {name} does not open yet"


def kick_door(play: Play, *, square: Square, name: str) -> str:
    """Walk to a door and kick it until it gives way; that can be done from its corners too."""
    blocked = _go_beside(play, square, NEIGHBOURS[square])
    if blocked:
        return blocked.format(name=name)
    for _ in range(_KICK_TRIES):
        play.act(KICK, [_direction(play, square)], Attention.WORKING)
        if not _is_closed(play, square):
            play.level.broken.add(square)
            return f"you kick the {name} open"
    return f"the {name} withstands your kicks"


def _go_beside(play: Play, square: Square, beside: Sequence[Square]) -> str:
    """Walk to one of the squares beside a door; returns why that cannot be, or nothing."""
    if walk_to(play, beside.__contains__) is None:
        return "there is no way to the {name}"
    play.look_down()
    if any(_SHOP_SIGN in message for message in play.heard):
        # Whoever breaks into a closed shop has its keeper against him.
        play.level.forbidden.add(square)
        return "the {name} is that of a shop which is closed: you leave it alone"
    return ""


def _direction(play: Play, square: Square) -> Reply:
    return Reply("direction", KEYS[direction_to(play.sight.hero, square)])


def _is_closed(play: Play, square: Square) -> bool:
    return play.level.ground[square] == Terrain.CLOSED_DOOR
