"""The loop guard."""

from dataclasses import replace

from arigraph_local.agent.loop_guard import LoopGuard
from arigraph_local.envs.environment import Observation

HALL = Observation("A hall.", "Nothing.", "hall", ("look at lamp", "go west"), 0, 9, False, False)
LAMP = replace(HALL, text="The lamp is a lamp.")
HOLDING = replace(HALL, text="You take the lamp.", inventory="A lamp.")
DROPPED = replace(HALL, text="You drop the lamp.")


def looked(times: int, limit: int = 2) -> LoopGuard:
    """Looking at the lamp again and again; the first time there is something new to read."""
    guard = LoopGuard(limit)
    for _ in range(times):
        guard.note(HALL, "look at lamp", LAMP)
        guard.see(LAMP)
    return guard


def test_what_was_done_over_and_over_without_anything_new_is_a_loop() -> None:
    assert looked(2).loops(HALL, HALL.valid_actions) == []
    assert looked(3).loops(HALL, HALL.valid_actions) == ["look at lamp"]


def test_it_is_none_once_room_inventory_or_score_differ_or_something_new_was_seen() -> None:
    guard = looked(3)
    for other in (
        replace(HALL, score=1),
        replace(HALL, location="study"),
        replace(HALL, inventory="A key."),
    ):
        assert guard.loops(other, HALL.valid_actions) == []
    guard = looked(3)
    guard.see(replace(HALL, text="A bell rings."))
    assert guard.loops(HALL, HALL.valid_actions) == []


def test_taking_and_dropping_the_same_thing_is_a_loop() -> None:
    guard = LoopGuard(2)
    for _ in range(4):
        guard.note(HALL, "take lamp", HOLDING)
        guard.note(HOLDING, "drop lamp", DROPPED)
        guard.see(DROPPED)
    assert guard.loops(DROPPED, ("take lamp", "go west")) == ["take lamp"]
    assert guard.loops(HOLDING, ("drop lamp", "go west")) == ["drop lamp"]


def test_the_order_in_which_the_inventory_is_listed_makes_no_other_situation() -> None:
    listed = replace(HALL, inventory="You carry: a key and a lamp.")
    guard = LoopGuard(2)
    for inventory in ("You carry: a key and a lamp.", "You carry: a lamp and a key."):
        guard.note(replace(HALL, inventory=inventory), "look at lamp", LAMP)
        guard.see(LAMP)
    guard.note(listed, "look at lamp", LAMP)
    assert guard.loops(listed, HALL.valid_actions) == ["look at lamp"]


def test_what_changed_nothing_is_offered_last_and_the_rest_in_order() -> None:
    guard = looked(1)
    guard.note(HALL, "go west", replace(HALL, location="study"))
    assert guard.ordered(["look at lamp", "go west", "wait"]) == ["go west", "wait", "look at lamp"]
