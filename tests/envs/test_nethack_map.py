from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nethack_screens import drawn, find, vitals

from arigraph_local.envs.nethack.describing import describe, describe_vitals, where
from arigraph_local.envs.nethack.grid import (
    NEIGHBOURS,
    SQUARES,
    direction_to,
    distance,
    is_diagonal,
    square_at,
    towards,
)
from arigraph_local.envs.nethack.level import LevelMemory
from arigraph_local.envs.nethack.news import Attention, Lookout
from arigraph_local.envs.nethack.paths import Footing, distances, shortest_way
from arigraph_local.envs.nethack.windows import read_window
from arigraph_local.envs.nethack.wording import a, counted, listed, plain, sentence

TWO_ROOMS = (
    "-------        -------",
    "|.....|        |.....|",
    "|.<@..D########O...%.|",
    "|..j..|        |.....|",
    "---+---        -------",
)
IN_THE_SECOND = (
    "-------        -------",
    "|.....|        |.....|",
    "|.<...D########O.@.%.|",
    "|..j..|        |.....|",
    "---+---        -------",
)
ON_THE_WAY = (
    "-------        -------",
    "|.....|        |.....|",
    "|.<...D###@####O...%.|",
    "|..j..|        |.....|",
    "---+---        -------",
)


def remembered(*drawings: tuple[str, ...], branch: int = 0) -> LevelMemory:
    level = LevelMemory(branch, 1)
    for rows in drawings:
        sight = drawn(rows)
        level.look(sight)
        level.here(sight)
    return level


def told(rows: tuple[str, ...], *before: tuple[str, ...], whole_level: bool = False) -> str:
    level = remembered(*before, rows)
    return describe(level, drawn(rows), (), whole_level=whole_level)


def test_a_room_is_described_by_its_size_exits_and_what_is_in_it() -> None:
    text = told(TWO_ROOMS)
    assert "You are in dungeon level 1, room 1. It is 5 squares wide and 3 high" in text
    assert "you are in the middle of it" in text
    assert "an east doorway 3 squares east" in text
    assert "a south door (closed) 2 squares south" in text
    assert "You see a staircase up 1 square west." in text
    assert "A hostile jackal is 1 square south." in text


def test_a_room_only_observation_says_nothing_of_the_other_room() -> None:
    assert "food ration" not in told(TWO_ROOMS, IN_THE_SECOND)
    whole = told(TWO_ROOMS, IN_THE_SECOND, whole_level=True)
    assert "Room 1 is" in whole
    assert "food ration" in whole


def test_rooms_are_numbered_as_they_are_entered_and_keep_their_numbers() -> None:
    level = remembered(TWO_ROOMS, ON_THE_WAY, IN_THE_SECOND)
    assert level.location(drawn(IN_THE_SECOND)) == "dungeon level 1, room 2"
    assert level.location(drawn(TWO_ROOMS)) == "dungeon level 1, room 1"
    assert level.location(drawn(ON_THE_WAY)) == "dungeon level 1, corridor 1"


def test_a_doorway_belongs_to_its_room() -> None:
    at_door = tuple(row.replace("@", ".").replace("D", "@") for row in TWO_ROOMS)
    level = remembered(TWO_ROOMS)
    assert level.location(drawn(at_door)) == "dungeon level 1, room 1"
    sight = drawn(at_door)
    level.look(sight)
    assert "You stand in the east doorway." in describe(
        remembered(TWO_ROOMS), sight, (), whole_level=False
    )


def test_two_doors_in_one_wall_have_two_names_that_do_not_change() -> None:
    rows = ("-----", "|@..D", "|...|", "|...+", "-----")
    level = remembered(rows)
    place = level.here(drawn(rows))
    names = [one.name for one in level.places.exits(level.ground, place)]
    assert names == ["east doorway", "east door"]
    opened = tuple(row.replace("+", "O") for row in rows)
    level.look(drawn(opened))
    assert [one.name for one in level.places.exits(level.ground, place)] == names


def test_one_who_is_swallowed_is_still_where_that_happened() -> None:
    level = remembered(TWO_ROOMS)
    inside = replace(drawn(ON_THE_WAY), swallowed=True, ground=bytes(SQUARES))
    level.look(inside)
    assert level.location(inside) == "dungeon level 1, room 1"
    assert "You are inside a monster." in describe(level, inside, (), whole_level=False)


def test_a_corridor_tells_where_it_leads() -> None:
    assert "corridor 1. From here it leads east and west." in told(ON_THE_WAY)


def test_parts_of_a_cave_are_places_with_ways_between_them() -> None:
    rows = ("." * 40, "." * 20 + "@" + "." * 19, "." * 40)
    level = remembered(rows, branch=2)
    text = describe(level, drawn(rows), (), whole_level=False)
    assert "You are in mines level 1, cave 1." in text
    assert "ways on to the east and west" in text


def test_ground_is_remembered_under_what_covers_it_later() -> None:
    level = remembered(TWO_ROOMS)
    covered = tuple(row.replace("D", "f") for row in TWO_ROOMS)
    level.look(drawn(covered))
    door = find(TWO_ROOMS, "D")
    assert level.here(drawn(TWO_ROOMS)).number == 1
    exits = level.places.exits(level.ground, level.here(drawn(covered)))
    assert door in [one.square for one in exits]


def test_a_closed_door_with_something_in_it_has_been_opened() -> None:
    rows = ("-----", "|@..+", "-----")
    level = remembered(rows)
    assert level.closed_doors() == [find(rows, "+")]
    level.look(drawn(tuple(row.replace("+", "%") for row in rows)))
    assert level.closed_doors() == []


def test_a_trap_that_is_gone_is_forgotten_and_one_that_is_covered_is_not() -> None:
    rows = ("@.^.",)
    level = remembered(rows)
    assert level.ways_down() == [find(rows, "^")]
    level.look(drawn(("@.%.",)))
    assert level.ways_down() == [find(rows, "^")]
    level.look(drawn(("@...",)))
    assert level.ways_down() == []


def test_doors_are_not_walked_through_diagonally() -> None:
    rows = (
        "-----  ",
        "|..@|  ",
        "|...D##",
        "-----  ",
    )
    level, sight = remembered(rows), drawn(rows)
    way = shortest_way(level.footing(sight), sight.hero, find(rows, "D").__eq__)
    assert way is not None
    assert len(way) == 2
    level.broken.add(find(rows, "D"))
    direct = shortest_way(level.footing(sight), sight.hero, find(rows, "D").__eq__)
    assert direct == [find(rows, "D")]


@pytest.mark.parametrize("obstacle", ["0", "~", "j", "p", "^", "+"])
def test_ways_lead_around_what_is_in_the_way(obstacle: str) -> None:
    rows = ("|......|", f"|@.{obstacle}.>.|", "|......|")
    level, sight = remembered(rows), drawn(rows)
    way = shortest_way(level.footing(sight), sight.hero, find(rows, ">").__eq__)
    assert way is not None
    assert find(rows, obstacle) not in way
    assert len(way) == 4


def test_pets_are_walked_over_and_a_boulder_only_if_asked() -> None:
    rows = ("@f.0.>",)
    level, sight = remembered(rows), drawn(rows)
    assert shortest_way(level.footing(sight), sight.hero, find(rows, ">").__eq__) is None
    pushing = level.footing(sight, over_boulders=True)
    way = shortest_way(pushing, sight.hero, find(rows, ">").__eq__)
    assert way is not None
    assert find(rows, "f") in way


def test_a_step_that_failed_twice_is_left_alone_for_a_while() -> None:
    rows = ("@.>",)
    level, sight = remembered(rows), drawn(rows)
    first = shortest_way(level.footing(sight), sight.hero, find(rows, ">").__eq__)
    assert first is not None
    level.refuse(sight.hero, first[0], 1)
    assert shortest_way(level.footing(sight), sight.hero, first[0].__eq__) == first[:1]
    level.refuse(sight.hero, first[0], 2)
    assert shortest_way(level.footing(sight), sight.hero, first[0].__eq__) is None
    later = drawn(rows, turn=500)
    assert shortest_way(level.footing(later), later.hero, first[0].__eq__) == first[:1]


@given(st.binary(min_size=SQUARES, max_size=SQUARES), st.integers(0, SQUARES - 1))
def test_a_way_is_as_long_as_the_distance_and_every_step_of_it_is_allowed(
    noise: bytes, start: int
) -> None:
    free = bytes(byte % 4 > 0 for byte in noise)
    doors = bytes(byte % 16 == 5 for byte in noise)
    footing = Footing(free, doors)
    reached = distances(footing, start)
    end = max(reached, key=lambda square: (reached[square], square))
    way = shortest_way(footing, start, end.__eq__)
    assert way is not None
    assert len(way) == reached[end]
    for square, following in zip([start, *way], way, strict=False):
        assert following in NEIGHBOURS[square]
        assert free[following]
        assert not (is_diagonal(square, following) and (doors[square] or doors[following]))


def test_the_end_of_a_corridor_is_searched_first_and_not_for_ever() -> None:
    rows = ("-----   ", "|@..D###", "|...|   ", "-----   ")
    level, sight = remembered(rows), drawn(rows)
    reached = distances(level.footing(sight), sight.hero)
    end = square_at(2, 7)
    assert level.worth_searching(reached) == end
    for _ in range(5):
        level.note_search(end, 20)
    assert level.worth_searching(reached) != end


@given(st.integers(0, SQUARES - 1), st.sampled_from(["north", "southeast", "west"]))
def test_a_step_in_a_direction_lies_in_that_direction(square: int, direction: str) -> None:
    neighbour = towards(square, direction)
    if neighbour is not None:
        assert direction_to(square, neighbour) == direction
        assert distance(square, neighbour) == 1
        assert where(square, neighbour) == f"1 square {direction}"


def test_news_are_monsters_wounds_and_messages_but_not_the_doings_of_pets() -> None:
    rows = ("|.@f...|", "|......|")
    with_newt = ("|.@f..n|", "|......|")
    before, after = drawn(rows), drawn(with_newt)
    assert Lookout(before).news(before, after, [], Attention.FIGHTING) == "a newt comes into view"
    lookout = Lookout(after)
    assert lookout.news(after, after, [], Attention.WALKING) is None
    assert lookout.news(after, after, ["The kitten eats."], Attention.WALKING) is None
    assert lookout.news(after, after, ["You feel lucky."], Attention.WALKING) == "something happens"
    assert lookout.news(after, after, ["You feel lucky."], Attention.WORKING) is None
    hurt = drawn(with_newt, hp=13)
    assert lookout.news(after, hurt, [], Attention.WORKING) == "you lose 3 hit points"
    assert lookout.news(after, hurt, [], Attention.FIGHTING) is None
    dying = drawn(with_newt, hp=4)
    assert lookout.news(hurt, dying, [], Attention.FIGHTING) == "you have few hit points left"


def test_vitals_are_told_in_a_sentence() -> None:
    text = describe_vitals(vitals(hp=3, hunger="weak", burden="burdened", conditions=("blind",)))
    assert "You have 3 of 16 hit points" in text
    assert "You are weak, burdened and blind." in text


def test_a_menu_is_read_with_its_choices_and_pages() -> None:
    rows = [
        "                     Pick up what?        ",
        "                                          ",
        "  ---.---            Weapons              ",
        "  |.@...|            a - a dagger         ",
        "                     b - 2 arrows         ",
        "                     (1 of 2)             ",
    ]
    window = read_window(rows)
    assert window is not None
    assert window.choices == {"a": "a dagger", "b": "2 arrows"}
    assert window.is_menu
    assert window.more_pages


def test_a_window_of_text_is_no_menu_and_a_line_of_messages_no_window() -> None:
    window = read_window(["  Things that are here:", "  a dagger", "  --More--"])
    assert window is not None
    assert window.lines == ("Things that are here:", "a dagger")
    assert not window.is_menu
    assert read_window(["You kill the newt!--More--", "  ----"]) is None
    assert read_window(["You see here a dagger.", "  ----"]) is None


def test_words_are_put_as_english_has_them() -> None:
    assert [a("newt"), a("orc"), a("a dagger"), a("3 darts"), a("Izchak")] == [
        "a newt",
        "an orc",
        "a dagger",
        "3 darts",
        "Izchak",
    ]
    assert plain("a +1 long sword (weapon in hand)") == "+1 long sword"
    assert (counted(1, "square"), counted(2, "square")) == ("1 square", "2 squares")
    assert listed(["one", "two", "three"]) == "one, two and three"
    assert (sentence("you walk"), sentence("")) == ("You walk.", "")
