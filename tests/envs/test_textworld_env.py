from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arigraph_local.envs.environment import GAME_OVER, Environment, TrueFact
from arigraph_local.envs.games import GameFiles
from arigraph_local.envs.opening import play_story
from arigraph_local.envs.textworld_env import (
    GENERIC_GOAL,
    NOT_UNDERSTOOD,
    TextWorldEnvironment,
    clean_opening,
    clean_text,
)
from arigraph_local.errors import GameError

STATUS = ">" + " " * 120 + "-= Room A =-1/2"


def test_text_is_cleaned_of_prompt_status_line_and_blank_lines() -> None:
    raw = f"\n\nYou pick up the key 1.\n\n\n\nYour score has gone up.\n\n{STATUS}"
    assert clean_text(raw) == "You pick up the key 1.\n\nYour score has gone up."
    assert clean_text("Nothing to see.\n\n>") == "Nothing to see."
    assert clean_text(f"\n-= Room A =-\nA room.\n{STATUS}") == "-= Room A =-\nA room."


def test_the_end_is_kept_but_not_the_interpreters_question() -> None:
    question = "Would you like to RESTART, RESTORE a saved game, QUIT or UNDO the last command?"
    raw = f"You win.\n\n\n    *** The End ***\n\nYou scored 7.\n\n\n{question}\n>"
    assert clean_text(raw) == "You win.\n\n*** The End ***\n\nYou scored 7."


def test_opening_begins_at_the_room_header() -> None:
    raw = "\n\n  $$$$ \n banner\nFind it.\n\n\n-= Room A =-\nYou are in a Room A.\n\n" + STATUS
    assert clean_opening(raw) == "-= Room A =-\nYou are in a Room A."


def test_first_observation_describes_the_room(environment: TextWorldEnvironment) -> None:
    first = environment.reset()
    assert first.text.startswith("-= Room A =-\n")
    assert "$$" not in first.text
    assert first.text.endswith("There is a key 1 and a note 1 on the floor.")
    assert first.location == "room a"
    assert first.inventory == "You are carrying nothing."
    assert (first.score, first.done, first.won) == (0, False, False)
    assert environment.reset() == first


def test_valid_actions_are_sorted_and_without_what_is_always_shown(
    environment: TextWorldEnvironment,
) -> None:
    actions = environment.reset().valid_actions
    assert list(actions) == sorted(set(actions))
    assert {"take key 1", "examine note 1"} <= set(actions)
    assert not {"look", "inventory"} & set(actions)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "take key 1\nexamine note 1",
        "take key 1\x00",
        "take key 1. examine note 1",
        "take key 1; examine note 1",
        "take key 1, note 1",
        "take key 1 and note 1",
        "take key 1 then examine note 1",
        "take all",
        "drop everything",
        "quit",
        "undo",
        "restart",
        "save",
        "again",
        "print_state",
        "enable print state option",
        "restrict commands",
        "tw-extra-infos description",
        "tw-trace-actions",
        "test quest0_0",
        "dance",
        "take clé 1",
        "examine " + "x" * 200,
    ],
)
def test_what_is_not_one_command_changes_nothing(
    environment: TextWorldEnvironment, command: str
) -> None:
    first, facts = environment.reset(), environment.true_facts()
    answer = environment.step(command)
    assert answer.text == NOT_UNDERSTOOD
    assert answer.valid_actions == first.valid_actions
    assert environment.true_facts() == facts
    assert environment.step("look").text == first.text


@pytest.mark.parametrize("command", ["TAKE KEY 1", "get key 1", "pick up key 1", " take key 1 "])
def test_other_wordings_of_one_command_work(
    environment: TextWorldEnvironment, command: str
) -> None:
    environment.reset()
    assert environment.step(command).score == 1
    assert TrueFact("in", ("key 1", "i")) in environment.true_facts()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(commands=st.lists(st.text(max_size=30) | st.from_regex(r"(take|drop|go) .*"), max_size=5))
def test_whatever_is_typed_location_and_facts_follow_the_game(
    environment: TextWorldEnvironment, commands: list[str]
) -> None:
    environment.reset()
    for command in commands:
        environment.step(command)
    room = environment.step("look").text.splitlines()[0].strip("-= ").lower()
    assert environment.step("i").location == room
    assert TrueFact("at", ("p", room)) in environment.true_facts()


def test_a_finished_game_stays_as_it_is(environment: TextWorldEnvironment, easy: GameFiles) -> None:
    environment.reset()
    for command in easy.walkthrough[:-1]:
        assert not environment.step(command).done
    end = environment.step(easy.walkthrough[-1])
    assert (end.done, end.won, end.valid_actions) == (True, True, ())
    after = environment.step("go north")
    assert (after.text, after.score, after.done) == (GAME_OVER, end.score, True)
    assert not environment.reset().done


def test_stepping_needs_a_reset_and_an_open_game(easy: GameFiles) -> None:
    game = TextWorldEnvironment(easy.story)
    with pytest.raises(GameError, match="has not been reset"):
        game.step("look")
    with pytest.raises(GameError, match="has not been reset"):
        game.true_facts()
    game.close()
    game.close()
    with pytest.raises(GameError, match="has been closed"):
        game.reset()


def _damaged(easy: GameFiles, folder: Path, kind: str) -> Path:
    story = Path(shutil.copy(easy.story, folder / "game.z8"))
    facts = Path(shutil.copy(easy.facts, folder / "game.json"))
    content = bytearray(story.read_bytes())
    if kind == "truncated":
        story.write_bytes(content[: len(content) // 2])
    elif kind == "one bit":
        content[len(content) // 2] ^= 1
        story.write_bytes(content)
    elif kind == "text":
        story.write_text("not a game")
    elif kind == "glulx":
        story.write_bytes(b"Glul" + bytes(content[4:]))
    elif kind == "no json":
        facts.unlink()
    elif kind == "bad json":
        facts.write_text("{]")
    elif kind == "other json":
        facts.write_text('{"a": 1}')
    elif kind == "list json":
        facts.write_text("[]")
    elif kind == "wrong start":
        facts.write_text(facts.read_text().replace('"Room A"', '"Room Z"'))
    elif kind == "directory":
        story.unlink()
        story.mkdir()
    else:
        story.unlink()
    return story


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "there is no game"),
        ("directory", "cannot read"),
        ("text", "not a Z-machine version 8"),
        ("glulx", "is a Glulx game, which TextWorld no longer plays"),
        ("truncated", "is truncated"),
        ("one bit", "is damaged"),
        ("no json", "has no 'game.json' beside it"),
        ("bad json", "is not the description of a TextWorld game"),
        ("other json", "is not the description of a TextWorld game"),
        ("list json", "is not the description of a TextWorld game"),
        ("wrong start", "does not belong to"),
    ],
)
def test_a_bad_file_is_one_clear_line(
    easy: GameFiles, tmp_path: Path, kind: str, message: str
) -> None:
    story = _damaged(easy, tmp_path, kind)
    with pytest.raises(GameError, match=message) as caught:
        TextWorldEnvironment(story).reset()
    assert "\n" not in str(caught.value)


def test_goal_of_a_game_without_objective(easy: GameFiles, tmp_path: Path) -> None:
    story = Path(shutil.copy(easy.story, tmp_path / "game.z8"))
    data = json.loads(easy.facts.read_text())
    data["objective"] = ""
    story.with_suffix(".json").write_text(json.dumps(data))
    assert TextWorldEnvironment(story).goal == GENERIC_GOAL
    assert TextWorldEnvironment(story, "Win.").goal == "Win."
    assert TextWorldEnvironment(easy.story, "Win.").goal == easy.goal


@pytest.mark.parametrize(
    ("file", "max_score", "goal_part"),
    [
        ("hunt/hunt.z8", 7, "Key 1, in room a, opens the white locker."),
        ("hunt_hard/hunt_hard.z8", 8, "Key 1, in room a, opens the bronze locker."),
        ("cook/game.z8", 11, "Let's cook a delicious meal"),
    ],
)
def test_published_games_load(published: Path, file: str, max_score: int, goal_part: str) -> None:
    game = play_story(str(published / file))
    first = game.reset()
    assert first.max_score == max_score
    assert goal_part in game.goal
    assert first.location is not None
    assert first.text.lower().startswith(f"-= {first.location} =-")
    assert first.valid_actions
    game.close()


@pytest.mark.parametrize(("run", "file"), [("hunt", "hunt"), ("hunt_hard", "hunt_hard")])
def test_published_runs_are_replayed_word_for_word(published: Path, run: str, file: str) -> None:
    log = published.parent / "gpt4_runs" / f"{run}.jsonl.gz"
    with gzip.open(log, "rt") as lines:
        steps = [json.loads(line) for line in lines]
    game = TextWorldEnvironment(published / run / f"{file}.z8")
    seen = game.reset()
    for step in (step for step in steps if step["attempt"] == steps[0]["attempt"]):
        assert " ".join(seen.text.split()) in " ".join(step["observation"].split())
        assert seen.inventory == step["inventory"].strip()
        for command in step["commands"]:
            seen = game.step(command)
    assert seen.score > 0
    game.close()


def test_it_is_an_environment(environment: TextWorldEnvironment) -> None:
    game: Environment = environment
    assert game.reset().max_score == environment.max_score == 6
