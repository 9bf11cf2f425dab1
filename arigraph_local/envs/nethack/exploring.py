"""The skill of exploring: to what has not been seen, through doors, and searching at last."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.envs.nethack.doors import kick_door, open_door
from arigraph_local.envs.nethack.grid import NEIGHBOURS, STRAIGHT_NEIGHBOURS, Square
from arigraph_local.envs.nethack.level import MINES
from arigraph_local.envs.nethack.paths import Footing, distances, shortest_way
from arigraph_local.envs.nethack.places import Place, PlaceKind
from arigraph_local.envs.nethack.play import Play
from arigraph_local.envs.nethack.resting import search_here
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.steps import step, walk_to
from arigraph_local.envs.nethack.wording import counted

_SEARCHES = 2


def explore_skills(play: Play) -> list[Skill]:
    """There is always something to explore, or to search for."""
    return [Skill("explore level", explore)]


def explore(play: Play) -> str:
    """Walk to the nearest squares from which something new may be seen.

    Ends in the first room, or part of a cave, that has not been entered before. Where all is seen
    it opens or kicks a door, then pushes boulders, then searches for hidden ways where they are
    likely.
    """
    level = play.level
    known = set(level.places.known()) | {play.place}
    # Dangers and boulders are left alone as long as there is another way.
    for daring, over_boulders in ((False, False), (True, False), (True, True)):
        while True:
            footing = level.footing(play.sight, daring=daring, over_boulders=over_boulders)
            way = shortest_way(footing, play.sight.hero, level.is_frontier)
            if way is None:
                break
            arrived = _walk_until_seen(play, way, known)
            if arrived:
                return arrived
        for square in _doors_in_reach(play, footing, STRAIGHT_NEIGHBOURS):
            if square in level.locked:
                if level.branch == MINES:
                    continue  # The watch of a town does not like it.
                return kick_door(play, square=square, name="locked door")
            return open_door(play, square=square, name="closed door")
    corners = _doors_in_reach(play, level.footing(play.sight, daring=True), NEIGHBOURS)
    if corners and level.branch != MINES:
        return kick_door(play, square=corners[0], name="closed door")
    return _search(play)


def _walk_until_seen(play: Play, way: list[Square], known: set[Place]) -> str:
    """Walk until the end of the way has nothing more to show; names the new place arrived in."""
    for square in way:
        step(play, square)
        place = play.place
        if place not in known and place.kind is not PlaceKind.CORRIDOR:
            return f"you come to {place}"
        if not play.level.is_frontier(way[-1]):
            return ""
    return ""


def _doors_in_reach(
    play: Play, footing: Footing, beside: Sequence[Sequence[Square]]
) -> list[Square]:
    """Closed doors that can be reached from the squares `beside` them: those not known to be
    locked first, then by their distance."""
    level = play.level
    reached = distances(footing, play.sight.hero)
    found = []
    for door in level.closed_doors():
        steps = [reached[one] for one in beside[door] if one in reached]
        if steps:
            found.append((door in level.locked, min(steps), door))
    return [door for _, _, door in sorted(found)]


def _search(play: Play) -> str:
    level = play.level
    reached = distances(level.footing(play.sight, daring=True), play.sight.hero)
    target = level.worth_searching(reached)
    if target is None:
        return "you see nothing to explore"
    walk_to(play, target.__eq__)
    before = bytes(level.ground)
    turns = 0
    for _ in range(_SEARCHES):
        turns += search_here(play)
        if level.ground != before:
            return "there is nothing more to be seen, so you search for hidden ways and find one"
    return (
        "there is nothing more to be seen: you search for hidden ways for "
        f"{counted(turns, 'turn')} and find none"
    )
