"""The search for the fastest settings, on made-up speeds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from arigraph_local.llm.llama import speed
from arigraph_local.llm.llama.speed import (
    Choice,
    Compared,
    Speed,
    alternatives,
    compare,
    confirm_fastest,
    default_choice,
    search_fastest,
)

START = Choice(threads=4, flash_attention="auto", n_ubatch=512)


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "logical_cores", lambda: 8)
    monkeypatch.setattr(speed, "physical_cores", lambda: 4)


def _measure(seconds: Callable[[Choice], float]) -> Callable[[Choice], Speed]:
    def measure(choice: Choice) -> Speed:
        rate = 1 / seconds(choice)
        return Speed(prompt=1000 * rate, reply=100 * rate, together=400 * rate)

    return measure


def test_each_setting_is_tried_from_the_best_so_far() -> None:
    def seconds(choice: Choice) -> float:
        fast = 1.0 - 0.3 * (choice.threads == 8) - 0.2 * (choice.n_ubatch == 128)
        return fast + 0.5 * (choice.flash_attention == "off")

    seen: list[Compared] = []
    best = search_fastest(_measure(seconds), START, 3, seen.append)
    assert best == Choice(threads=8, flash_attention="auto", n_ubatch=128)
    ratios = {one.choice: one.ratio for one in seen}
    assert ratios[replace(START, threads=8)] == pytest.approx(1 / 0.7)
    assert ratios[best] == pytest.approx(0.7 / 0.5)
    assert len(seen) == len(ratios) == 2 + 2 + 3


def test_what_is_hardly_faster_changes_nothing() -> None:
    best = search_fastest(
        _measure(lambda choice: 1.0 if choice == START else 0.98), START, 1, lambda _: None
    )
    assert best == START


def test_a_slow_spell_spoils_one_pair_only() -> None:
    calls = 0
    twice_as_fast = replace(START, threads=8)

    def seconds(choice: Choice) -> float:
        nonlocal calls
        calls += 1
        return (0.5 if choice == twice_as_fast else 1.0) * (20.0 if calls == 2 else 1.0)

    assert compare(_measure(seconds), twice_as_fast, START, 5).ratio == pytest.approx(2.0)


def test_both_are_measured_first_equally_often() -> None:
    order: list[Choice] = []

    def seconds(choice: Choice) -> float:
        order.append(choice)
        return 1.0

    other = replace(START, threads=8)
    compare(_measure(seconds), other, START, 4)
    assert order == [START, other, other, START, START, other, other, START]


def test_a_setting_compared_with_itself_is_neither_faster_nor_slower() -> None:
    assert compare(_measure(lambda _: 1.0), START, START, 2).ratio == 1.0


def test_what_does_not_hold_is_given_up() -> None:
    other = replace(START, threads=8)
    slower = _measure(lambda choice: 1.0 if choice == START else 2.0)
    assert confirm_fastest(slower, other, START, 3).choice == START
    faster = _measure(lambda choice: 1.0 if choice == START else 0.5)
    confirmed = confirm_fastest(faster, other, START, 3)
    assert (confirmed.choice, confirmed.ratio) == (other, 2.0)


def test_alternatives_change_one_setting_and_fit_the_machine() -> None:
    groups = list(alternatives(START))
    assert [[one.threads for one in group] for group in groups[:1]] == [[1, 8]]
    for group in groups:
        for one in group:
            changed = [
                name
                for name in ("threads", "flash_attention", "n_ubatch")
                if getattr(one, name) != getattr(START, name)
            ]
            assert len(changed) == 1


def test_the_default_is_what_engines_take() -> None:
    assert default_choice() == START


def test_a_step_is_mostly_its_prompt_and_reply() -> None:
    assert Speed(prompt=500, reply=75, together=1).step_seconds == pytest.approx(1 + 2)
