"""Skills of combat: to fight hand to hand, and to throw."""

from __future__ import annotations

from functools import partial

from arigraph_local.envs.nethack.console import Reply
from arigraph_local.envs.nethack.grid import (
    KEYS,
    Square,
    direction_to,
    distance,
    is_diagonal,
    towards,
)
from arigraph_local.envs.nethack.news import Attention
from arigraph_local.envs.nethack.paths import shortest_way
from arigraph_local.envs.nethack.play import Play, named, nearest_hostile
from arigraph_local.envs.nethack.sight import Item, Thing
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.steps import step
from arigraph_local.envs.nethack.terrain import DOORS, WALKABLE
from arigraph_local.envs.nethack.wording import plain

_FIGHT, _THROW = "F", "t"
_BLOWS = 20
_RANGE = 7
_MISSILES = ("dagger", "dart", "arrow", "spear", "knife", "shuriken", "javelin")
_IN_HAND = "in hand"


def fight_skills(play: Play) -> list[Skill]:
    """`melee MONSTER` for each sort of hostile monster in view; `throw ITEM at MONSTER`."""
    found = named(play.sight.hostile(), play.sight.hero)
    skills = [
        Skill(f"melee {name}", partial(melee_attack, name=thing.name))
        for name, thing in found.items()
        if play.can_reach([thing.square])
    ]
    missile = next((item for item in play.items("weapon") if _is_missile(item)), None)
    if missile is not None:
        throw = partial(_throw, letter=missile.letter, what=plain(missile.name))
        skills += [
            Skill(f"throw {plain(missile.name)} at {name}", partial(throw, name=thing.name))
            for name, thing in found.items()
            if line_of_fire(play, thing.square) is not None
        ]
    return skills


def melee_attack(play: Play, *, name: str) -> str:
    """Go up to the nearest monster of that name and strike until it is gone, or hit points are
    few."""
    for _ in range(_BLOWS):
        target = nearest_hostile(play, name)
        if target is None:
            return f"no {name} is to be seen any more"
        if _in_reach(play, target.square):
            direction = direction_to(play.sight.hero, target.square)
            messages = play.act(_FIGHT + KEYS[direction], attention=Attention.FIGHTING)
            if any("attack thin air" in message for message in messages):
                return f"there is no {name}"
        elif not _come_nearer(play, target):
            return f"you cannot get at the {name}"
    return f"you are still fighting the {name}"


def line_of_fire(play: Play, square: Square) -> str | None:
    """The direction in which a square lies in range with nothing solid or alive in between."""
    hero = play.sight.hero
    direction = direction_to(hero, square)
    alive = {thing.square for thing in play.sight.monsters()}
    reached = hero
    for _ in range(_RANGE):
        further = towards(reached, direction)
        if further == square:
            return direction
        if further is None or further in alive or play.level.ground[further] not in WALKABLE:
            return None
        reached = further
    return None


def _in_reach(play: Play, square: Square) -> bool:
    hero, ground = play.sight.hero, play.level.ground
    at_door = ground[hero] in DOORS or ground[square] in DOORS
    return distance(hero, square) == 1 and not (at_door and is_diagonal(hero, square))


def _come_nearer(play: Play, target: Thing) -> bool:
    footing = play.level.footing(play.sight, onto=frozenset({target.square}))
    way = shortest_way(footing, play.sight.hero, target.square.__eq__)
    if way is None:
        return False
    step(play, way[0], Attention.FIGHTING)
    return True


def _is_missile(item: Item) -> bool:
    return _IN_HAND not in item.name and any(word in item.name for word in _MISSILES)


def _throw(play: Play, *, letter: str, what: str, name: str) -> str:
    target = nearest_hostile(play, name)
    direction = line_of_fire(play, target.square) if target else None
    if direction is None:
        return f"the {name} is not in a straight line from you"
    play.act(
        _THROW,
        [Reply("What do you want to throw", letter), Reply("direction", KEYS[direction])],
        Attention.FIGHTING,
    )
    return f"you throw the {what}"
