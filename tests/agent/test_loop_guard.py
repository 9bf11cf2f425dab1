"""The loop guard."""

from dataclasses import replace

from arigraph_local.agent.loop_guard import LoopGuard
from arigraph_local.envs.environment import Observation

HALL = Observation("A hall.", "Nothing.", "hall", ("look at lamp", "go west"), 0, 9, False, False)
RICHER = replace(HALL, score=1)
STUDY = replace(HALL, location="study")


def guard_after(*actions: str, limit: int = 2) -> LoopGuard:
    guard = LoopGuard(limit)
    for action in actions:
        guard.note(HALL, action, replace(HALL, text="The lamp is a lamp."))
    return guard


def test_what_changed_nothing_twice_is_not_offered_in_that_situation() -> None:
    guard = guard_after("look at lamp", "look at lamp")
    assert guard.allowed(HALL, HALL.valid_actions) == ["go west"]
    assert guard_after("look at lamp").allowed(HALL, HALL.valid_actions) == [*HALL.valid_actions]


def test_it_is_offered_again_once_room_inventory_or_score_differ() -> None:
    guard = guard_after("look at lamp", "look at lamp")
    assert "look at lamp" in guard.allowed(RICHER, HALL.valid_actions)
    assert "look at lamp" in guard.allowed(STUDY, HALL.valid_actions)


def test_moving_on_is_never_fruitless() -> None:
    guard = LoopGuard(1)
    for _ in range(5):
        guard.note(HALL, "go west", STUDY)
    assert guard.allowed(HALL, HALL.valid_actions) == [*HALL.valid_actions]


def test_when_nothing_else_is_left_everything_is_offered() -> None:
    guard = guard_after("look at lamp", "look at lamp")
    assert guard.allowed(HALL, ["look at lamp"]) == ["look at lamp"]


def test_limit_zero_is_no_guard() -> None:
    guard = guard_after(*["look at lamp"] * 9, limit=0)
    assert guard.allowed(HALL, HALL.valid_actions) == [*HALL.valid_actions]
