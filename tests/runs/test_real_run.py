"""A real model plays a real game: the same bytes twice, and a run that is cut resumes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from arigraph_local.cli.app import run
from arigraph_local.errors import ArigraphError
from arigraph_local.events import ModelCalled, RunStarted
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.grammar.token_grammar import matches
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.resources import data_folder
from arigraph_local.runs.event_log import FILE, read_events
from arigraph_local.runs.run_folder import RESULT

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"
STEPS = 2


@pytest.fixture(scope="module")
def needs_models() -> None:
    folder = models_folder()
    try:
        locate("all-minilm-l6-v2", folder)
        locate(MODEL, folder)
    except ArigraphError as error:
        pytest.skip(f"a model is missing: {error}")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, needs_models: None) -> Path:
    del needs_models
    folder = tmp_path_factory.mktemp("real") / "run"
    assert play(folder) == 0
    return folder


SHORT_REPLIES = """
game = "hunt:easy@1"
seed = 5

[memory]
max_triplets = 4

[agent]
max_sub_goals = 1
max_entities = 2
"""


def play(folder: Path) -> int:
    """Play with a prompt set of our own, the default one without its worked examples."""
    prompts = folder.parent / "prompts"
    if not prompts.exists():
        without_examples = shutil.ignore_patterns("*.examples.toml")
        shutil.copytree(data_folder("prompts") / "default", prompts, ignore=without_examples)
    config = folder.with_suffix(".toml")
    config.write_text(SHORT_REPLIES)
    arguments = ["--config", config, "--prompts", prompts, "--steps", STEPS, "--out", folder]
    return run(["play", "--quiet", "--json", *(str(argument) for argument in arguments)])


def without_times(folder: Path, *also: str) -> list[dict[str, object]]:
    lines = (folder / FILE).read_text().splitlines()
    left_out = {"time", *also}
    return [{k: v for k, v in json.loads(line).items() if k not in left_out} for line in lines]


def test_the_run_is_finished_and_its_result_says_what_it_cost(played: Path) -> None:
    result = json.loads((played / RESULT).read_text())
    assert result["steps"] == STEPS
    assert result["max_score"] == 6
    assert result["tasks"].keys() >= {"extract", "plan", "act"}
    assert result["tokens"]["generated"] > 0
    assert result["seconds"] > 0


def test_the_same_seed_and_model_give_the_same_bytes(played: Path, tmp_path: Path) -> None:
    assert play(tmp_path / "again") == 0
    assert without_times(tmp_path / "again") == without_times(played)


def test_a_run_that_lost_its_end_resumes_to_the_same_story(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cut"
    folder.mkdir()
    for name in ("config.toml", FILE):
        (folder / name).write_bytes((played / name).read_bytes())
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[: len(whole) * 3 // 4])
    assert run(["play", "--resume", str(folder), "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == STEPS
    cost = ("computed", "reused")
    assert without_times(folder, *cost) == without_times(played, *cost)


def test_the_system_turns_are_computed_once_and_reused_after(played: Path) -> None:
    calls = [event for event in read_events(played) if isinstance(event, ModelCalled)]
    first = [event for event in calls if event.step == 1 and event.task in {"extract", "plan"}]
    later = [event for event in calls if event.step > 1 and event.task in {"extract", "plan"}]
    assert all(event.reused == 0 for event in first)
    assert all(event.reused > 100 for event in later)
    assert all(event.reused > event.computed for event in calls if event.task == "act")


def test_every_prompt_holds_one_system_turn_and_begins_as_the_model_wants(played: Path) -> None:
    """SmolLM2's BOS is `<|im_start|>`, which its template writes itself: one a turn, none more."""
    for event in read_events(played):
        if isinstance(event, ModelCalled):
            turns = [turn.split("\n", 1)[0] for turn in event.prompt.split("<|im_start|>")]
            assert turns[:2] == ["", "system"]
            assert turns[-1] == "assistant"
            assert set(turns[2:-1:2]) == {"user"}
            assert set(turns[3:-1:2]) <= {"assistant"}


def test_replies_obey_the_grammar_of_their_task(played: Path) -> None:
    grammar = PromptSet().grammar("extract", max_triplets=4)
    replies = [
        event.reply
        for event in read_events(played)
        if isinstance(event, ModelCalled) and event.task == "extract" and event.stop == "end"
    ]
    assert all(matches(grammar, reply) for reply in replies)


def test_the_log_names_the_model_by_its_checksum(played: Path) -> None:
    header = read_events(played)[0]
    assert isinstance(header, RunStarted)
    assert header.model == (
        "smollm2-135m sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )


def test_the_demo_prints_one_json_object_and_nothing_else(
    needs_models: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del needs_models
    assert run(["demo", "--steps", "1", "--json", "--out", str(tmp_path / "demo")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["game"] == "hunt:standard@1"
    assert printed["max_score"] == 7
    assert printed["run"] == str(tmp_path / "demo")
    assert {"score", "normalised_score", "steps", "tokens", "seconds"} <= printed.keys()
