"""Walking square by square, the part of movement that every skill shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arigraph_local.envs.nethack.grid import KEYS, Square, direction_to
from arigraph_local.envs.nethack.news import Attention
from arigraph_local.envs.nethack.paths import shortest_way
from arigraph_local.envs.nethack.play import InterruptedSkillError, Play

_TRIES = 4
"""A pet in the way usually steps aside, or changes places, within so many tries."""


def step(play: Play, square: Square, attention: Attention = Attention.WALKING) -> None:
    """Move to a neighbouring square.

    Raises `InterruptedSkillError` when the player did not get there.
    """
    level, start = play.level, play.sight.hero
    for _ in range(_TRIES):
        turn = play.sight.vitals.turn
        try:
            play.act(KEYS[direction_to(start, square)], attention=attention)
        finally:
            # What the game does not allow takes no time; a struggle against something does.
            if play.level is level and (play.sight.hero, play.sight.vitals.turn) == (start, turn):
                level.refuse(start, square, turn)
        if play.sight.hero == square:
            return
        if play.sight.hero != start:
            raise InterruptedSkillError("you are moved to another square")
    raise InterruptedSkillError("something is in the way")


def walk(play: Play, way: Iterable[Square], attention: Attention = Attention.WALKING) -> int:
    """Step along a way and return how many steps that were."""
    steps = 0
    for square in way:
        step(play, square, attention)
        steps += 1
    return steps


def walk_to(
    play: Play,
    is_wanted: Callable[[Square], bool],
    *,
    onto: frozenset[Square] = frozenset(),
    attention: Attention = Attention.WALKING,
) -> int | None:
    """Walk to the nearest wanted square; None, without a step, if there is no way to one.

    Dangers are walked around where that is possible. Squares of `onto` may be stepped on whatever
    is on them.
    """
    for daring in (False, True):
        footing = play.level.footing(play.sight, daring=daring, onto=onto)
        way = shortest_way(footing, play.sight.hero, is_wanted)
        if way is not None:
            return walk(play, way, attention)
    return None
