"""Skills without a way to go: waiting, searching, resting, praying, writing in the dust."""

from __future__ import annotations

from arigraph_local.envs.nethack.console import ENTER, PRAY, Reply
from arigraph_local.envs.nethack.news import Attention
from arigraph_local.envs.nethack.play import Play
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.wording import counted

SEARCH_TURNS = 10
_SEARCH_TEN, _WAIT_ONE, _ENGRAVE = "10s", "s", "E"
_FINGERS = "-"
_LONGEST_REST = 15
"""Times ten turns."""


def resting_skills(play: Play) -> list[Skill]:
    """To wait a turn, to search, to rest when wounded."""
    vitals = play.sight.vitals
    skills = [Skill("search", _search), Skill("wait", _wait)]
    if vitals.hp < vitals.max_hp and not play.sight.hostile():
        skills.append(Skill("rest", _rest))
    return skills


def protection_skills(play: Play) -> list[Skill]:
    """To pray, which helps once in about a thousand turns and angers the god more often; to write
    the word in the dust that keeps most monsters off."""
    return [Skill("pray", _pray), Skill("engrave Elbereth", _engrave)]


def _search(play: Play) -> str:
    return f"you search for {counted(search_here(play), 'turn')}"


def search_here(play: Play) -> int:
    """Search for ten turns, or until something disturbs; returns how many turns that was."""
    start = play.sight.vitals.turn
    play.level.note_search(play.sight.hero, SEARCH_TURNS)
    play.act(_SEARCH_TEN, attention=Attention.WORKING)
    return play.sight.vitals.turn - start


def _wait(play: Play) -> str:
    play.act(_WAIT_ONE, attention=Attention.FIGHTING)
    return "you wait"


def _rest(play: Play) -> str:
    for _ in range(_LONGEST_REST):
        play.act(_SEARCH_TEN, attention=Attention.WORKING)
        if play.sight.vitals.hp >= play.sight.vitals.max_hp:
            return "you rest until you are well"
    return "you rest"


def _pray(play: Play) -> str:
    play.act(PRAY, [Reply("want to pray", "y")], Attention.FIGHTING)
    return "you pray"


def _engrave(play: Play) -> str:
    replies = [
        Reply("What do you want to write with", _FINGERS),
        Reply("add to the current engraving", "n"),
        Reply("What do you want to (?:write|engrave)", f"Elbereth{ENTER}"),
    ]
    play.act(_ENGRAVE, replies, Attention.FIGHTING)
    return "you write in the dust"
