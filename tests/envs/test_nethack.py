from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arigraph_local.envs.environment import GAME_OVER, Observation, TrueFact
from arigraph_local.envs.games import LIVE_FAMILIES, make_game
from arigraph_local.envs.nethack.environment import NOT_A_SKILL
from arigraph_local.envs.nethack.family import NetHackFamily
from arigraph_local.envs.opening import open_game
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.errors import GameError, UsageError

needs_nle = pytest.mark.skipif(
    importlib.util.find_spec("nle") is None,
    reason="the package nle is not installed: pip install 'arigraph-local[nethack]'",
)


def opened(seed: int, level: str = "room") -> ProcessEnvironment:
    environment = NetHackFamily().open(level, seed)
    assert isinstance(environment, ProcessEnvironment)
    return environment


@pytest.fixture(scope="module")
def game() -> Iterator[ProcessEnvironment]:
    environment = opened(11)
    yield environment
    environment.close()


def walked(environment: ProcessEnvironment, steps: int) -> list[Observation]:
    """A walk that tries one kind of action after another."""
    seen = [environment.reset()]
    for number in range(steps):
        actions = seen[-1].valid_actions
        if not actions:
            break
        first = actions[0]
        action = first if first.startswith("melee") else actions[number * 7 % len(actions)]
        seen.append(environment.step("explore level" if number % 2 else action))
    return seen


@needs_nle
def test_one_seed_gives_the_same_texts_in_two_processes_and_another_seed_others() -> None:
    runs = []
    for seed in (3, 3, 4):
        environment = opened(seed)
        runs.append(walked(environment, 25))
        environment.close()
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@needs_nle
def test_starting_over_gives_the_same_game(game: ProcessEnvironment) -> None:
    assert walked(game, 8) == walked(game, 8)


@needs_nle
def test_every_valid_action_is_accepted_and_told_in_words(game: ProcessEnvironment) -> None:
    for observation in walked(game, 45)[1:]:
        assert NOT_A_SKILL not in observation.text
        assert observation.text
        assert observation.done or observation.valid_actions
        assert len(set(observation.valid_actions)) == len(observation.valid_actions)
        assert observation.location is not None
        assert observation.location == observation.location.lower()


@needs_nle
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(max_size=30) | st.sampled_from(["q", "#quit", "y\n", ":", "S", "explore  Level"]))
def test_no_free_text_reaches_the_game(game: ProcessEnvironment, text: str) -> None:
    before = game.reset() if not hasattr(game, "started") else game.step("nothing of this")
    game.started = True  # type: ignore[attr-defined]
    if " ".join(text.split()) in before.valid_actions:
        return
    after = game.step(text)
    assert after.text == NOT_A_SKILL
    assert (after.valid_actions, after.inventory, after.score) == (
        before.valid_actions,
        before.inventory,
        before.score,
    )


@needs_nle
def test_the_first_observation_and_the_facts_tell_the_same(game: ProcessEnvironment) -> None:
    first = game.reset()
    facts = game.true_facts()
    assert first.location == "dungeon level 1, room 1"
    assert first.location in first.text
    assert TrueFact("at", ("player", first.location)) in facts
    assert TrueFact("dungeon level", ("1",)) in facts
    held = {fact.arguments[0] for fact in facts if fact.predicate == "in"}
    assert held
    assert all(item in first.inventory for item in held)
    exits = {fact.arguments[0] for fact in facts if fact.predicate == "exit"}
    assert all(name in first.text for name in exits)
    assert (first.max_score, first.done, first.won) == (0, False, False)


@needs_nle
def test_the_whole_level_tells_more_than_the_room() -> None:
    texts = []
    for level in ("room", "level"):
        environment = opened(5, level)
        environment.reset()
        seen = [environment.step("explore level") for _ in range(12)]
        texts.append(seen[-1].text)
        environment.close()
    assert len(texts[1]) > len(texts[0])


@needs_nle
def test_a_killed_process_is_started_again_and_reaches_the_same_observation() -> None:
    environment = opened(8)
    seen = walked(environment, 10)
    assert environment.process_id is not None
    os.kill(environment.process_id, 9)
    again = environment.step("not a skill")
    assert environment.restarts == 1
    assert (again.inventory, again.location, again.valid_actions, again.score) == (
        seen[-1].inventory,
        seen[-1].location,
        seen[-1].valid_actions,
        seen[-1].score,
    )
    environment.close()


@needs_nle
def test_the_game_ends_with_death_and_is_not_won() -> None:
    environment = opened(2)
    observation = environment.reset()
    for _ in range(200):
        if observation.done:
            break
        # An angry god is the quickest way to die.
        observation = environment.step("pray")
    assert observation.done
    assert not observation.won
    assert observation.valid_actions == ()
    assert environment.step("pray").text == GAME_OVER
    environment.close()


PROMPTS = """
from arigraph_local.envs.nethack.console import Console, Reply
console = Console("val-dwa-law-fem", 4)
console.start()
for key in "eqrzaPTWwdDtfQCNEApoSXOi\\\\[)=;_":
    console.command(key)
    turn = console.sight().vitals.turn
    console.command("s")
    assert console.sight().vitals.turn == turn + 1, key
write = Reply("write with", "-")
console.command("E", [write])
console.command("E", [write, Reply("What do you want to write", "hello\\r")])
assert any("hello" in line for line in console.command(":"))
for letter in "cd":
    console.command("d", [Reply("What do you want to drop", letter)])
console.command(",", [Reply("Pick up", choose="an uncursed food ration")])
assert "an uncursed food ration" in [item.name for item in console.sight().inventory]
print("no prompt is open")
"""


@needs_nle
def test_whatever_the_game_asks_no_prompt_is_left_open(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROMPTS],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.stdout.strip() == "no prompt is open", done.stderr


@needs_nle
def test_a_game_is_opened_by_its_name() -> None:
    opened_game = open_game("nethack:room@3")
    assert opened_game.name == "nethack:room@3"
    assert opened_game.step_limit == LIVE_FAMILIES["nethack"].levels()["room"].step_limit
    assert "dungeon" in opened_game.environment.goal
    opened_game.environment.close()


def test_the_levels_are_listed_without_the_game() -> None:
    code = "import sys, arigraph_local.envs.games as games; games.LIVE_FAMILIES['nethack'].levels()"
    check = "; assert not {'nle', 'gymnasium'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code + check], check=True, timeout=60)
    assert list(LIVE_FAMILIES["nethack"].levels()) == ["room", "level"]
    with pytest.raises(UsageError, match="made as it is played"):
        make_game("nethack:room@1")


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arigraph_local.envs.nethack.family._nle_version", lambda: None)
    with pytest.raises(GameError, match="pip install"):
        NetHackFamily().open("room", 1)


def test_a_bad_definition_is_named_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "nethack.toml"
    path.write_text('description = "d"\ngoal = "g"\ncharacter = "a wizard"\n[levels]\n')
    with pytest.raises(UsageError, match=r"nethack\.toml', character"):
        NetHackFamily(path).levels()
