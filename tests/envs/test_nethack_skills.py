from __future__ import annotations

import pytest
from nethack_screens import DrawnGame, find

from arigraph_local.envs.nethack.grid import distance
from arigraph_local.envs.nethack.offering import offered_skills
from arigraph_local.envs.nethack.play import InterruptedSkillError, Play
from arigraph_local.envs.nethack.sight import Item, Kind, Thing

TWO_ROOMS = (
    "-------        -------",
    "|.....|        |.....|",
    "|.@...D########O.....|",
    "|.....|        |.....|",
    "-------        -------",
)


def use(play: Play, text: str) -> str:
    play.begin()
    return offered_skills(play, whole_level=False)[text].run(play)


def use_often(play: Play, text: str) -> list[str]:
    return [use(play, text) for _ in range(6)]


def explored(rows: tuple[str, ...], text: str) -> tuple[Play, str]:
    """A game in which `explore level` was used until that skill is offered."""
    play = Play(DrawnGame(rows), 200)
    for _ in range(20):
        if text in offered_skills(play, whole_level=False):
            return play, use(play, text)
        use(play, "explore level")
    raise AssertionError(f"{text} was never offered")


def test_going_through_a_door_follows_the_corridor_into_the_next_room() -> None:
    play, said = explored(TWO_ROOMS, "go east")
    assert said == "you come to room 2"
    assert play.level.location(play.sight) == "dungeon level 1, room 2"
    assert play.sight.hero == find(TWO_ROOMS, "O")
    assert use(play, "go west") == "you come to room 1"


def test_a_corridor_is_followed_to_its_fork_and_to_its_end() -> None:
    rows = ("-----    ### ", "|@..D#####   ", "|...|    ####", "-----        ")
    play, said = explored(rows, "go east")
    assert said == "the way forks: northeast, southeast"
    assert use(play, "go northeast") == "you come to the end of the way"
    assert play.level.location(play.sight) == "dungeon level 1, corridor 1"


def test_exploring_ends_in_a_new_room_and_then_searches() -> None:
    play = Play(DrawnGame(TWO_ROOMS), 200)
    said = use_often(play, "explore level")
    assert "you come to room 2" in said
    assert "you search for hidden ways for 20 turns and find none" in said[-1]


def test_exploring_opens_a_closed_door() -> None:
    game = DrawnGame(("-----", "|@..|", "|...+", "-----"))
    play = Play(game, 200)
    assert use(play, "explore level") == "the closed door does not open yet"
    assert "o" in game.commands


def test_a_skill_stops_when_a_monster_comes_into_view() -> None:
    monster = Thing(find(TWO_ROOMS, "O"), Kind.HOSTILE, "jackal")
    game = DrawnGame(TWO_ROOMS, seen={1: monster})
    play = Play(game, 200)
    with pytest.raises(InterruptedSkillError, match="a jackal comes into view"):
        use_often(play, "explore level")
    assert distance(play.sight.hero, monster.square) == 1
    assert "melee jackal" in offered_skills(play, whole_level=False)


def test_a_skill_stops_at_a_message_and_keeps_it() -> None:
    play = Play(DrawnGame(TWO_ROOMS, heard={2: "You feel watched."}), 200)
    with pytest.raises(InterruptedSkillError, match="something happens"):
        use(play, "explore level")
    assert play.heard == ["You feel watched."]


def test_no_skill_takes_more_than_its_share_of_commands() -> None:
    game = DrawnGame(TWO_ROOMS)
    play = Play(game, 3)
    with pytest.raises(InterruptedSkillError, match="long time"):
        use(play, "explore level")
    assert len(game.commands) == 3


def test_a_monster_that_does_not_die_is_not_fought_for_ever() -> None:
    rows = ("-----", "|@j.|", "-----")
    game = DrawnGame(rows)
    play = Play(game, 200)
    assert use(play, "melee jackal") == "you are still fighting the jackal"
    assert set(game.commands) == {"Fl"}


def test_only_what_can_be_reached_is_offered() -> None:
    play = Play(DrawnGame(("-------", "|@.0..|", "-------")), 200)
    offered = offered_skills(play, whole_level=False)
    assert not [text for text in offered if text.startswith("go ")]


def test_what_is_carried_can_be_used_in_the_way_of_its_kind() -> None:
    items = (
        Item("a", "a +1 long sword (weapon in hand)", "weapon"),
        Item("b", "2 +0 daggers", "weapon"),
        Item("d", "an uncursed food ration", "food"),
        Item("e", "a clear potion", "potion"),
        Item("f", "a pick-axe", "tool"),
        Item("g", "a scroll labeled FOO (unpaid, 50 zorkmids)", "scroll"),
    )
    offered = set(offered_skills(Play(DrawnGame(TWO_ROOMS, items=items), 200), whole_level=False))
    assert {
        "wield 2 +0 daggers",
        "eat uncursed food ration",
        "quaff clear potion",
        "dig down with pick-axe",
        "read scroll labeled FOO",
        "pay",
        "drop scroll labeled FOO",
    } <= offered
    assert "wield +1 long sword" not in offered


def test_what_lies_underfoot_is_told_from_what_is_written_there() -> None:
    look = ["Things that are here:", "a dagger", "2 darts", 'You read: "Elbereth".']
    play = Play(DrawnGame(TWO_ROOMS, underfoot=look), 200)
    play.look_down()
    assert play.lying_here == ("a dagger", "2 darts")
    assert play.heard == ["Welcome.", 'You read: "Elbereth".']
    assert {"pick up dagger", "pick up 2 darts"} <= set(offered_skills(play, whole_level=False))
