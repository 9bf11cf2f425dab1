"""Every level of the generated games: do all seeds build, how long does the slowest take, and what
do the oracle and a player by chance score.

    .venv/bin/python scripts/bench/game_families.py [GAME …] [--seeds N] [--play N] [--json]

A GAME is `family:level`; without one, all levels. Games are made anew in a folder of its own, with
seeds from 0. The first `--play` of them are played to the level's step limit, by the oracle and by
chance; scores are normalised, as those of `arigraph play --player`. Seconds are those of the
processor, the compiler's included, which other work on the machine hardly changes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from arigraph_local.agent.episode import Player, Position
from arigraph_local.agent.episode import play as play_episode
from arigraph_local.agent.navigation import Navigator
from arigraph_local.envs.environment import Environment
from arigraph_local.envs.games import FAMILIES, GameFiles, make_game
from arigraph_local.envs.opening import play_story
from arigraph_local.errors import GameError
from arigraph_local.players.oracle_player import OraclePlayer
from arigraph_local.players.random_player import RandomPlayer


@dataclass(frozen=True)
class Figures:
    """One level: times in seconds of the processor, scores from 0 to 1, steps of the oracle."""

    level: str
    made: int
    failures: list[str]
    mean_seconds: float
    slowest_seconds: float
    slowest_seed: int
    played: int
    oracle_lowest: float
    oracle_mean: float
    oracle_steps: float
    random_mean: float


def measure(level: str, seeds: int, play: int, folder: Path) -> Figures:
    """Make and play one level."""
    games: list[GameFiles] = []
    failures: list[str] = []
    seconds: list[float] = []
    for seed in range(seeds):
        start = processor_seconds()
        try:
            games.append(make_game(f"{level}@{seed}", folder))
        except GameError as error:
            failures.append(f"{seed}: {error}")
        seconds.append(processor_seconds() - start)
    oracle = [by_oracle(game) for game in games[:play]]
    chance = [by_chance(game, seed) for seed, game in enumerate(games[:play])]
    slowest = max(seconds)
    return Figures(
        level=level,
        made=len(games),
        failures=failures,
        mean_seconds=round(statistics.mean(seconds), 2),
        slowest_seconds=round(slowest, 2),
        slowest_seed=seconds.index(slowest),
        played=len(oracle),
        oracle_lowest=min(score for score, _ in oracle),
        oracle_mean=statistics.mean(score for score, _ in oracle),
        oracle_steps=statistics.mean(steps for _, steps in oracle),
        random_mean=round(statistics.mean(score for score, _ in chance), 3),
    )


def processor_seconds() -> float:
    """Time that this process and its ended children have computed."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def by_oracle(game: GameFiles) -> tuple[float, int]:
    """Score and steps of the family's oracle."""
    environment = opened(game)
    family = FAMILIES[game.name.split(":")[0]]
    return played(game, environment, OraclePlayer(family.oracle(), environment))


def by_chance(game: GameFiles, seed: int) -> tuple[float, int]:
    """Score and steps of the random player with this seed."""
    return played(game, opened(game), RandomPlayer(seed))


def opened(game: GameFiles) -> Environment:
    """The game in this process."""
    return play_story(str(game.story), game.goal, game.name.split(":")[0])


def played(game: GameFiles, environment: Environment, player: Player) -> tuple[float, int]:
    """The final score, normalised, and the steps of one episode."""
    try:
        end = play_episode(
            environment,
            player,
            None,
            Navigator(None, "off"),
            lambda event: None,
            steps=game.step_limit,
            start=Position(environment.reset()),
        )
    finally:
        environment.close()
    return end.score / game.max_score, end.steps


def shown(figures: Figures) -> str:
    """One line."""
    return (
        f"{figures.level}: {figures.made} made, {len(figures.failures)} failed, mean "
        f"{figures.mean_seconds} s, slowest {figures.slowest_seconds} s (seed "
        f"{figures.slowest_seed}); {figures.played} played: oracle {figures.oracle_mean:.3f} "
        f"(lowest {figures.oracle_lowest:.3f}, {figures.oracle_steps:.1f} steps), random "
        f"{figures.random_mean:.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("levels", nargs="*", metavar="GAME")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--play", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one object as the last line")
    options = parser.parse_args(arguments)
    levels = options.levels or [
        f"{name}:{level}" for name, family in FAMILIES.items() for level in family.levels()
    ]
    figures = []
    with tempfile.TemporaryDirectory(prefix="games-") as folder:
        for level in levels:
            figures.append(measure(level, options.seeds, options.play, Path(folder)))
            print(shown(figures[-1]), flush=True)
            for failure in figures[-1].failures:
                print(f"    seed {failure}", flush=True)
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures]))


if __name__ == "__main__":
    main()
