"""Skills with things: to pick up, pay for, eat, drink, read, put on, wield, apply and zap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from arigraph_local.envs.nethack.console import Reply
from arigraph_local.envs.nethack.fighting import line_of_fire
from arigraph_local.envs.nethack.grid import KEYS
from arigraph_local.envs.nethack.news import Attention
from arigraph_local.envs.nethack.play import Play, nearest_hostile
from arigraph_local.envs.nethack.sight import Item
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.wording import plain

_PICK_UP, _DROP, _PAY, _EAT, _APPLY, _ZAP = ",", "d", "p", "e", "a", "z"
_UNPAID = "(unpaid"
_CARRY_ON = Reply("Continue\\?|Stop eating\\?|Really", "y")
_NOT_FROM_THE_FLOOR = Reply(" here; | here\\?", "n")
_WORN = re.compile(r"\((?:being worn|on (?:left|right) |embedded|in use|in hand|weapon in hand)")

_USES = (
    ("quaff", "q", "drink", ("potion",)),
    ("read", "r", "read", ("scroll", "spellbook")),
    ("wear", "W", "wear", ("armour",)),
    ("put on", "P", "put on", ("ring", "amulet")),
    ("wield", "w", "wield", ("weapon",)),
)
"""The word of the skill, the game's key, the word in its question, the items it is for."""

_DIGGERS = ("pick-axe", "mattock")
_DIGS = 5
_UNDIGGABLE = re.compile(r"cannot|can't|too hard|isn't enough room")


def pick_up_skills(play: Play) -> list[Skill]:
    """`pick up THING` for what lies underfoot."""
    names = dict.fromkeys(play.lying_here)
    return [Skill(f"pick up {plain(name)}", partial(_pick_up, name=name)) for name in names]


def shop_skills(play: Play) -> list[Skill]:
    """To pay for what one carries out of a shop, or to leave it there."""
    unpaid = [item for item in play.items() if _UNPAID in item.name]
    if not unpaid:
        return []
    drops = [Skill(f"drop {plain(item.name)}", partial(_drop, item=item)) for item in unpaid]
    return [Skill("pay", _pay), *drops]


def eat_skills(play: Play) -> list[Skill]:
    """To eat what is carried, or a corpse underfoot."""
    skills = [
        Skill(f"eat {plain(item.name)}", partial(_eat, item=item)) for item in play.items("food")
    ]
    corpses = [name for name in play.lying_here if "corpse" in name]
    return skills + [
        Skill(f"eat {plain(name)} from the floor", partial(_eat_corpse, name=name))
        for name in dict.fromkeys(corpses)
    ]


def use_skills(play: Play) -> list[Skill]:
    """To quaff, read, wear, put on and wield what is carried and not in use."""
    return [
        Skill(f"{word} {plain(item.name)}", partial(_use, key=key, question=question, item=item))
        for word, key, question, categories in _USES
        for item in play.items(*categories)
        if not _WORN.search(item.name)
    ]


def device_skills(play: Play) -> list[Skill]:
    """To apply tools, to dig with a pick, and to zap wands at the nearest monster or downwards."""
    skills = []
    for item in play.items("tool", "weapon"):
        if any(word in item.name for word in _DIGGERS):
            text = f"dig down with {plain(item.name)}"
            skills.append(Skill(text, partial(_dig_down, item=item)))
        elif item.category == "tool":
            skills.append(Skill(f"apply {plain(item.name)}", partial(_apply, item=item)))
    target = nearest_hostile(play)
    aimed = line_of_fire(play, target.square) if target else None
    for item in play.items("wand"):
        skills.append(Skill(f"zap {plain(item.name)} down", partial(_zap, item=item, key=">")))
        if target is not None and aimed is not None:
            text = f"zap {plain(item.name)} at {plain(target.name)}"
            skills.append(Skill(text, partial(_zap, item=item, key=KEYS[aimed])))
    return skills


def _pick_up(play: Play, *, name: str) -> str:
    before = play.sight.inventory
    _do(play, _PICK_UP, [Reply("Pick up", choose=name), _CARRY_ON])
    taken = play.sight.inventory != before
    return f"you pick up {name}" if taken else f"you cannot pick up {name}"


def _pay(play: Play) -> str:
    _do(play, _PAY, [Reply("Itemized billing", "n"), Reply("Pay", "y")])
    return "you try to pay"


def _drop(play: Play, *, item: Item) -> str:
    _do(play, _DROP, [Reply("What do you want to drop", item.letter)])
    return f"you drop the {plain(item.name)}"


def _eat(play: Play, *, item: Item) -> str:
    _do(play, _EAT, [_NOT_FROM_THE_FLOOR, Reply("What do you want to eat", item.letter), _CARRY_ON])
    return f"you eat: {plain(item.name)}"


def _eat_corpse(play: Play, *, name: str) -> str:
    _do(play, _EAT, [Reply(re.escape(name), "y"), _NOT_FROM_THE_FLOOR, _CARRY_ON])
    return f"you eat of {name}"


def _use(play: Play, *, key: str, question: str, item: Item) -> str:
    replies = [
        _NOT_FROM_THE_FLOOR,
        Reply(f"What do you want to {question}", item.letter),
        Reply("Which ring-finger", "r"),
        Reply("difficult to learn|Continue", "n"),
    ]
    _do(play, key, replies)
    return f"you use: {plain(item.name)}"


def _apply(play: Play, *, item: Item) -> str:
    _do(play, _APPLY, [Reply("What do you want to use or apply", item.letter)])
    return f"you apply the {plain(item.name)}"


def _dig_down(play: Play, *, item: Item) -> str:
    replies = [
        Reply("What do you want to use or apply", item.letter),
        Reply("In what direction do you want to dig", ">"),
        _CARRY_ON,
    ]
    for _ in range(_DIGS):
        _do(play, _APPLY, replies)
        if any(_UNDIGGABLE.search(message) for message in play.heard):
            break
    return "you do not dig through"


def _zap(play: Play, *, item: Item, key: str) -> str:
    _do(play, _ZAP, [Reply("What do you want to zap", item.letter), Reply("direction", key)])
    return f"you zap the {plain(item.name)}"


def _do(play: Play, key: str, replies: Sequence[Reply]) -> None:
    play.act(key, replies, Attention.WORKING)
