"""Scores: raw, normalised, and by the paper's protocol."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.runs.run_folder import RunResult, TaskCost
from arigraph_local.runs.scoring import (
    best_of_attempts,
    normalised,
    paper_score,
    score_table,
    steps_to_finish,
)


def result(score: int, max_score: int = 7, reason: str = "step_limit", **others: str) -> RunResult:
    return RunResult(
        game=others.get("game", "hunt:standard@1"),
        player=others.get("player", "random"),
        model=others.get("model", "none"),
        reason=reason,
        score=score,
        max_score=max_score,
        normalised_score=normalised(score, max_score),
        steps=int(others.get("steps", "150")),
        facts=0,
        retired=0,
        fallbacks=0,
        tokens=TaskCost(),
        tasks={},
        seconds=1.0,
    )


def test_a_game_without_a_highest_score_has_no_normalised_one() -> None:
    assert normalised(3, 7) == 0.4286
    assert normalised(593, 0) is None
    assert '"normalised_score":null' in result(593, 0).model_dump_json()
    assert paper_score([result(points, 0) for points in (1, 2, 3, 4, 5)]) is None


def test_the_paper_takes_the_mean_of_the_best_three_of_five() -> None:
    attempts = [result(score) for score in (0, 7, 1, 7, 0)]
    assert paper_score(attempts) == pytest.approx((1 + 1 + 1 / 7) / 3)
    assert paper_score(attempts[:4]) is None


@given(st.lists(st.integers(0, 9), min_size=5, max_size=9))
def test_of_more_attempts_it_is_the_mean_over_every_five(values: list[int]) -> None:
    every = [fmean(sorted(five)[-3:]) for five in combinations(values, 5)]
    assert best_of_attempts(values) == pytest.approx(fmean(every))


def test_only_a_won_run_has_steps_to_finish() -> None:
    assert steps_to_finish(result(7, reason="won", steps="23")) == 23
    assert steps_to_finish(result(7, reason="lost")) is None
    assert steps_to_finish(result(7, reason="nothing_left")) is None


def test_runs_are_grouped_by_game_player_and_model() -> None:
    runs = [
        result(1),
        result(7, reason="won", player="oracle", steps="20"),
        result(3),
        result(7, reason="won", player="oracle", steps="30"),
        result(2, player="ariadne", model="small"),
        result(4, player="ariadne", model="large"),
    ]
    table = score_table(runs)
    assert [(one.player, one.model, one.n) for one in table] == [
        ("ariadne", "large", 1),
        ("ariadne", "small", 1),
        ("oracle", "none", 2),
        ("random", "none", 2),
    ]
    oracle, chance = table[2:]
    assert (oracle.raw, oracle.normalised, oracle.won, oracle.steps_to_finish) == (7, 1, 2, 25)
    assert (chance.raw, chance.won, chance.steps_to_finish) == (2, 0, None)
    assert chance.normalised == pytest.approx(2 / 7)
    assert chance.best_normalised is None


def test_seeds_of_a_level_are_taken_together_only_when_asked() -> None:
    path = "/games/a:b@1.z8"
    runs = [result(1), result(3, game="hunt:standard@2"), result(3, game=path)]
    assert len(score_table(runs)) == 3
    assert [(one.game, one.n) for one in score_table(runs, by_level=True)] == [
        (path, 1),
        ("hunt:standard", 2),
    ]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8))
def test_means_lie_within_the_range_of_the_scores(scores: list[int]) -> None:
    (one,) = score_table([result(score) for score in scores])
    assert min(scores) <= one.raw <= max(scores)
    assert one.normalised == pytest.approx(one.raw / 7)
    if one.best_raw is not None:
        assert one.raw <= one.best_raw + 1e-9
        assert one.best_normalised == pytest.approx(one.best_raw / 7)
