"""Plans and actions read from replies, whole or cut off."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.agent.acting import Choice, likeliest, parse_choice, voted
from arigraph_local.agent.plan import Plan, Revision, SubGoal, parse_revision, revised
from arigraph_local.llm.engine import Likelihood

REPLY = json.dumps(
    {
        "sub_goals": [{"goal": "open the white locker", "reason": "the next key is in it"}],
        "needs_exploration": False,
        "entities": [{"name": "white locker", "relevance": 2}],
    }
)
ACTIONS = ("go north", "take key 1")


def test_a_whole_plan_is_read() -> None:
    plan = parse_revision(REPLY)
    assert plan is not None
    assert plan.sub_goals[0].goal == "open the white locker"
    assert not plan.needs_exploration
    assert (plan.entities[0].name, plan.entities[0].relevance) == ("white locker", 2)


@given(st.integers(0, len(REPLY) - 1))
def test_a_cut_off_plan_is_no_plan(length: int) -> None:
    assert parse_revision(REPLY[:length]) is None


def test_an_action_is_read_with_its_rationale() -> None:
    choice = parse_choice('{"rationale": "it opens", "action": "take key 1"}', ACTIONS, seed=1)
    assert (choice.action, choice.rationale, choice.fallback) == ("take key 1", "it opens", False)


@given(st.text(), st.integers(0, 2**32))
def test_any_other_reply_falls_back_to_the_same_valid_action(reply: str, seed: int) -> None:
    choice = parse_choice(reply, ACTIONS, seed)
    assert choice.fallback
    assert choice.action in ACTIONS
    assert choice == parse_choice(reply, ACTIONS, seed)


def test_an_action_that_was_not_offered_falls_back() -> None:
    choice = parse_choice('{"rationale": "r", "action": "fly"}', ACTIONS, seed=1)
    assert choice.fallback
    assert choice.action in ACTIONS


@given(st.integers(1, 2))
def test_an_action_is_read_by_its_number(number: int) -> None:
    choice = parse_choice(f'{{"rationale": "r", "action": {number}}}', ACTIONS, seed=1)
    assert choice == Choice(ACTIONS[number - 1], "r")


@pytest.mark.parametrize("number", ["0", "3", "-1", "true", "1.0", "null"])
def test_a_number_that_names_no_action_falls_back(number: str) -> None:
    choice = parse_choice(f'{{"rationale": "r", "action": {number}}}', ACTIONS, seed=1)
    assert choice.fallback
    assert choice.action in ACTIONS


def test_the_action_named_most_often_is_taken_and_of_equals_the_first() -> None:
    a, b, again = Choice("a", "one"), Choice("b", "two"), Choice("b", "three")
    by_chance = Choice("a", "", fallback=True)
    assert voted([a, b, again]) == b
    assert voted([a, b]) == a
    assert voted([by_chance, by_chance, b]) == b
    assert voted([by_chance, by_chance]) == by_chance


def test_the_likeliest_is_taken_in_all_or_per_token() -> None:
    found = (Likelihood(-4.0, 2), Likelihood(-3.0, 1), Likelihood(-3.0, 1))
    assert likeliest(found, ("a", "b", "c"), per_token=False) == Choice("b", "")
    assert likeliest(found, ("a", "b", "c"), per_token=True) == Choice("a", "")


def goals(*names: str) -> tuple[SubGoal, ...]:
    return tuple(SubGoal(goal=name, reason="because") for name in names)


def test_sub_goals_stay_until_they_are_done_and_new_ones_come_first() -> None:
    plan = revised(Plan(), Revision(sub_goals=goals("find key 1", "open box")), step=1, limit=3)
    plan = revised(plan, Revision(), step=2, limit=3)
    assert [goal.goal for goal in plan.sub_goals] == ["find key 1", "open box"]
    plan = revised(plan, Revision(done=(1,), sub_goals=goals("find the box")), step=3, limit=3)
    assert [(goal.goal, goal.since) for goal in plan.sub_goals] == [
        ("find the box", 3),
        ("open box", 1),
    ]


def test_a_sub_goal_set_again_keeps_its_step_and_the_plan_its_length() -> None:
    plan = revised(Plan(), Revision(sub_goals=goals("find key 1")), step=1, limit=2)
    plan = revised(plan, Revision(sub_goals=goals("Find  key 1")), step=5, limit=2)
    assert [(goal.goal, goal.since) for goal in plan.sub_goals] == [("find key 1", 1)]
    again = Revision(done=(1,), sub_goals=goals("find key 1", "find key 1"))
    plan = revised(plan, again, step=5, limit=2)
    assert [(goal.goal, goal.since) for goal in plan.sub_goals] == [("find key 1", 1)]
    plan = revised(plan, Revision(sub_goals=goals("a", "b")), step=6, limit=2)
    assert [goal.goal for goal in plan.sub_goals] == ["a", "b"]
