"""Scores: of one run, and of the runs of one player at one game."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

from arigraph_local.runs.run_folder import RunResult

ATTEMPTS = 5
BEST = 3
"""The paper plays each game five times and takes the mean of the three best scores (section 4)."""

_SEEDED = re.compile(r"([^/@]+:[^/@]+)@[0-9]+")


@dataclass(frozen=True)
class Score:
    """What the runs of one player at one game came to; None where there is no such number.

    `memory` names the memory and the ablations, such as `arigraph without episodic`.
    `raw` and `best_raw` are in the game's points, `normalised` and `best_normalised` in parts of
    the highest possible score. `best_…` is `best_of_attempts`. `steps_to_finish` is the mean over
    the `won` runs.
    """

    game: str
    player: str
    memory: str
    model: str
    n: int
    won: int
    max_score: float
    raw: float
    normalised: float | None
    best_raw: float | None
    best_normalised: float | None
    steps_to_finish: float | None


def normalised(score: float, max_score: float) -> float | None:
    """The part of the highest score that was reached; None where a game has no highest score."""
    return round(score / max_score, 4) if max_score > 0 else None


def steps_to_finish(result: RunResult) -> int | None:
    """The steps it took to win; None for a run that did not."""
    return result.steps if result.reason == "won" else None


def best_of_attempts(
    values: Sequence[float], *, best: int = BEST, attempts: int = ATTEMPTS
) -> float | None:
    """The paper's protocol: the mean of the `best` highest of `attempts` values.

    Of more values, the mean of that over every choice of `attempts` among them, which does not
    depend on their order; of fewer, None.
    """
    n = len(values)
    if n < attempts:
        return None
    total = 0.0
    for higher, value in enumerate(sorted(values, reverse=True)):
        # In how many choices this value is drawn and fewer than `best` higher ones are.
        choices = sum(
            comb(higher, drawn) * comb(n - 1 - higher, attempts - 1 - drawn)
            for drawn in range(best)
        )
        total += value * choices
    return total / (best * comb(n, attempts))


def paper_score(results: Sequence[RunResult]) -> float | None:
    """`best_of_attempts` of the normalised scores; None for fewer than five runs, or for a game
    without a highest score."""
    return best_of_attempts(_normalised_scores(results)) if _have_maximum(results) else None


def score_table(results: Iterable[RunResult], *, by_level: bool = False) -> list[Score]:
    """A score for each game, player, memory and model, in that order.

    `by_level` takes the seeds of a generated game together: `family:level@seed` as
    `family:level`.
    """
    groups: dict[tuple[str, str, str, str], list[RunResult]] = {}
    for result in results:
        seeded = _SEEDED.fullmatch(result.game) if by_level else None
        game = seeded[1] if seeded else result.game
        memory = " without ".join((result.memory, *result.ablations))
        key = (game, result.player, memory, result.model)
        groups.setdefault(key, []).append(result)
    return [_score(key, groups[key]) for key in sorted(groups)]


def _score(key: tuple[str, str, str, str], results: Sequence[RunResult]) -> Score:
    game, player, memory, model = key
    points = [float(result.score) for result in results]
    steps = [steps for result in results if (steps := steps_to_finish(result)) is not None]
    return Score(
        game=game,
        player=player,
        memory=memory,
        model=model,
        n=len(results),
        won=len(steps),
        max_score=fmean(result.max_score for result in results),
        raw=fmean(points),
        normalised=fmean(_normalised_scores(results)) if _have_maximum(results) else None,
        best_raw=best_of_attempts(points),
        best_normalised=paper_score(results),
        steps_to_finish=fmean(steps) if steps else None,
    )


def _have_maximum(results: Sequence[RunResult]) -> bool:
    return bool(results) and all(result.max_score > 0 for result in results)


def _normalised_scores(results: Sequence[RunResult]) -> list[float]:
    return [result.score / result.max_score for result in results]
