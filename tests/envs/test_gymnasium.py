"""Every game as a `gymnasium.Env`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from three_rooms import ThreeRooms

from arigraph_local.envs import gymnasium_env
from arigraph_local.envs.games import (
    LIVE_FAMILIES,
    GameFiles,
    all_families,
    is_game_file,
    make_game,
)
from arigraph_local.envs.gymnasium_env import (
    LONGEST_OBSERVATION,
    TextGameEnv,
    _within_space,
    environment_id,
    register_games,
)
from arigraph_local.envs.opening import OpenGame, open_game, play_story
from arigraph_local.errors import GameError, UsageError


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seed is 3, played in this process: making and starting games takes the time."""

    def opened(name: str) -> OpenGame:
        if is_game_file(name):
            return OpenGame(play_story(name), name, "d")
        family, _, level = name.partition("@")[0].partition(":")
        if family in LIVE_FAMILIES:
            return open_game(name)
        files = make_game(f"{family}:{level}@3")
        return OpenGame(play_story(str(files.story), files.goal, family), files.name, files.digest)

    monkeypatch.setattr(gymnasium_env, "open_game", opened)


@pytest.fixture
def env() -> Iterator[TextGameEnv]:
    made = TextGameEnv("hunt:easy@3")
    yield made
    made.close()


def test_every_level_of_every_family_has_an_id() -> None:
    register_games()
    for name, family in all_families().items():
        for level, summary in family.levels().items():
            spec = gymnasium.spec(environment_id(name, level))
            assert spec.max_episode_steps == summary.step_limit
            assert spec.kwargs == {"game": f"{name}:{level}"}
    assert gymnasium.spec("arigraph/hunt-standard-v0")


@pytest.mark.usefixtures("easy")
@pytest.mark.parametrize("level", ["hunt-easy", "cooking-rl-1", "cleaning-small", "nethack-room"])
def test_gymnasiums_own_checker_is_content(level: str) -> None:
    if level.startswith("nethack"):
        pytest.importorskip("nle")
    made = gymnasium.make(f"arigraph/{level}-v0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(made.unwrapped)
    made.close()  # type: ignore[no-untyped-call]
    assert [str(one.message) for one in caught if "WARN" in str(one.message)] == []


def test_rewards_add_up_and_the_end_terminates(env: TextGameEnv, easy: GameFiles) -> None:
    text, info = env.reset()
    assert text in env.observation_space
    assert (info["score"], info["max_score"], info["location"]) == (0, 6, "room a")
    assert info["inventory"] == "You are carrying nothing."
    total = 0.0
    for command in easy.walkthrough:
        assert command in info["valid_actions"]
        text, reward, terminated, truncated, info = env.step(command)
        assert text in env.observation_space
        assert not truncated
        total += reward
    assert (terminated, info["won"], total) == (True, True, 6.0)


def test_a_level_is_truncated_at_its_step_limit() -> None:
    made = gymnasium.make("arigraph/hunt-easy-v0")
    _, info = made.reset(seed=3)
    chance = Random(1)
    outcomes = []
    for _ in range(150):
        action = chance.choice([a for a in info["valid_actions"] if a.startswith("go ")])
        _, _, terminated, truncated, info = made.step(action)
        outcomes.append((terminated, truncated))
    made.close()  # type: ignore[no-untyped-call]
    assert outcomes[:-1] == [(False, False)] * 149
    assert outcomes[-1] == (False, True)


def test_the_seed_of_a_reset_chooses_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def opened(name: str) -> OpenGame:
        asked.append(name)
        return OpenGame(ThreeRooms(), name, "d")

    monkeypatch.setattr(gymnasium_env, "open_game", opened)
    env = TextGameEnv("hunt:easy@3")
    for seed in (None, None, 123, None, 3, 3):
        env.reset(seed=seed)
    assert asked == ["hunt:easy@3", "hunt:easy@123", "hunt:easy@3"]


def test_a_story_file_is_the_same_with_every_seed(easy: GameFiles) -> None:
    env = TextGameEnv(str(easy.story))
    first, _ = env.reset(seed=1)
    again, _ = env.reset(seed=2)
    env.close()
    assert first == again


def test_a_seed_or_name_that_no_game_has_is_one_line(env: TextGameEnv) -> None:
    with pytest.raises(UsageError, match="the seed must be a whole number"):
        env.reset(seed=2**40)
    with pytest.raises(UsageError, match="unknown game family"):
        TextGameEnv("hnut:easy")


def test_a_step_before_the_first_reset_is_one_line(env: TextGameEnv) -> None:
    with pytest.raises(GameError, match="has not been reset"):
        env.step("look")


def test_the_last_text_is_rendered() -> None:
    env = TextGameEnv("hunt:easy@3", render_mode="ansi")
    text, _ = env.reset()
    assert env.render() == text
    env.close()


@given(st.text() | st.just("x" * (LONGEST_OBSERVATION + 1)))
def test_any_text_is_brought_into_the_space(text: str) -> None:
    space = TextGameEnv("hunt:easy@3").observation_space
    assert _within_space(text) in space
