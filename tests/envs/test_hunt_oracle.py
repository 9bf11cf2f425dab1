"""The oracle of Treasure Hunt: every point, from wherever the episode stands."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from arigraph_local.envs.environment import Environment, Observation, TrueFact
from arigraph_local.envs.games import make_game
from arigraph_local.envs.hunt_oracle import HuntOracle
from arigraph_local.envs.opening import play_story


def finish(game: Environment, observation: Observation) -> tuple[Observation, int]:
    """Let the oracle play on until nothing is left to gain."""
    oracle, steps = HuntOracle(), 0
    while (action := oracle.next_action(game.true_facts(), observation)) is not None:
        assert action in observation.valid_actions
        assert steps < 400
        observation = game.step(action)
        steps += 1
    return observation, steps


def test_it_is_as_short_as_the_walkthrough(games_folder: Path) -> None:
    files = make_game("hunt:easy@3", games_folder)
    game = play_story(str(files.story), files.goal, "hunt")
    end, steps = finish(game, game.reset())
    game.close()
    assert end.won
    assert (end.score, steps) == (files.max_score, len(files.walkthrough))


@pytest.mark.parametrize("seed", range(6))
def test_it_recovers_from_whatever_was_done_before(seed: int, games_folder: Path) -> None:
    files = make_game("hunt:easy@3", games_folder)
    game = play_story(str(files.story), files.goal, "hunt")
    chance, observation = Random(seed), game.reset()
    for command in files.walkthrough[: chance.randrange(len(files.walkthrough) - 1)]:
        observation = game.step(command)
    for _ in range(60):
        if not observation.done:
            observation = game.step(chance.choice(observation.valid_actions))
    end, _ = finish(game, observation)
    game.close()
    assert end.won
    assert end.score == files.max_score


def test_keys_that_were_locked_in_again_are_fetched(games_folder: Path) -> None:
    files = make_game("hunt:easy@3", games_folder)
    game = play_story(str(files.story), files.goal, "hunt")
    observation = game.reset()
    commands = iter(files.walkthrough)
    for command in commands:
        observation = game.step(command)
        if command.startswith("open "):
            locker = command.removeprefix("open ")
            break
    observation = game.step(next(commands))
    for command in (f"insert key 2 into {locker}", f"close {locker}", f"lock {locker} with key 1"):
        assert command in observation.valid_actions
        observation = game.step(command)
    observation = game.step("drop key 1")
    end, _ = finish(game, observation)
    game.close()
    assert end.won


@pytest.mark.parametrize("path", ["hunt/hunt.z8", "hunt_hard/hunt_hard.z8"])
def test_it_wins_the_published_hunts(published: Path, path: str) -> None:
    game = play_story(str(published / path))
    end, _ = finish(game, game.reset())
    game.close()
    assert end.won
    assert end.score == end.max_score


def fact(predicate: str, *arguments: str) -> TrueFact:
    return TrueFact(predicate, arguments)


def seen(*actions: str) -> Observation:
    return Observation("", "", "hall", actions, 0, 1, done=False, won=False)


def test_a_closed_door_on_the_way_is_opened() -> None:
    facts = {
        fact("at", "p", "hall"),
        fact("north_of", "study", "hall"),
        fact("south_of", "hall", "study"),
        fact("link", "hall", "oak door", "study"),
        fact("at", "treasure", "study"),
    }
    closed = frozenset(facts | {fact("closed", "oak door")})
    opened = frozenset(facts | {fact("open", "oak door")})
    shown = seen("open oak door", "go north")
    assert HuntOracle().next_action(closed, shown) == "open oak door"
    assert HuntOracle().next_action(opened, shown) == "go north"


def test_without_a_way_to_open_it_there_is_nothing_left_to_gain() -> None:
    facts = frozenset(
        {
            fact("at", "p", "hall"),
            fact("at", "chest", "hall"),
            fact("locked", "chest"),
            fact("in", "treasure", "chest"),
        }
    )
    assert HuntOracle().next_action(facts, seen("go north")) is None
