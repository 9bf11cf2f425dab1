"""Worked examples of acting: which are shown, where, and when they give way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import three_rooms_script as script
from golden_prompts import assert_golden
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.agent.examples import ActingExample, ActingExamples
from arigraph_local.config import make_config
from arigraph_local.errors import UsageError
from arigraph_local.events import ModelCalled
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.resources import data_folder
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

GOLDEN = Path(__file__).parent / "golden"


def example(situation: str) -> ActingExample:
    return ActingExample(situation=situation, rationale="so", action="go")


def played(
    path: Path, *, context: int = 1 << 20, memory: str = "arigraph", **settings: object
) -> list[ModelCalled]:
    values = {f"agent.{name}": value for name, value in settings.items()}
    folder = RunFolder.create(
        path, make_config({"game": "three-rooms", "memory.name": memory} | values)
    )
    engine = ScriptedEngine(script.REPLIES, context_tokens=context)
    run_episode(folder, Equipment(engine, WordEmbedder(), ThreeRooms(), "d", 2))
    return [event for event in read_events(path) if isinstance(event, ModelCalled)]


def test_the_nearest_are_found_the_most_similar_last() -> None:
    texts = ["red lamp", "green door here", "green door", "blue cup"]
    library = ActingExamples([example(text) for text in texts], WordEmbedder())
    found = library.nearest("a green door", 2)
    assert [one.situation for one in found] == ["green door here", "green door"]
    assert library.nearest("a green door", 0) == ()
    assert len(library.nearest("a green door", 9)) == 4


def test_a_library_without_examples_has_none() -> None:
    assert ActingExamples([], WordEmbedder()).nearest("a green door", 3) == ()


def test_the_default_library_is_read_and_no_situation_is_there_twice() -> None:
    found = PromptSet().examples("act", ActingExample)
    assert len({one.situation for one in found}) == len(found) >= 15


def test_as_many_as_the_setting_says_are_shown_before_the_actions(tmp_path: Path) -> None:
    calls = played(tmp_path / "run", examples=2)
    acts = [call.prompt for call in calls if call.task == "act"]
    assert_golden(GOLDEN / "act_with_examples.txt", acts[1])
    assert "What was right elsewhere" not in acts[1].split("Plan:")[0]
    plain = played(tmp_path / "plain")
    assert all("What was right elsewhere" not in call.prompt for call in plain)


def test_examples_give_way_where_the_context_is_short(tmp_path: Path) -> None:
    calls = played(tmp_path / "run", memory="none", examples=20, context=1000, max_actions=4)
    acts = [call.prompt for call in calls if call.task == "act"]
    assert len(acts) == 2
    assert 0 < acts[1].count(" -> ") < 20
    assert "\n- go west" in acts[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[example]]\nsituation = 'a'\nrationale = 'b'\n", "example.0.action: Field required"),
        ("[[example]]\nsituation = ''\nrationale = 'b'\naction = 'c'\n", "example.0.situation"),
        ("[example]\na = 1\n", "example: Input should be a valid list"),
        ("[[example]\n", "not valid TOML"),
    ],
)
def test_a_bad_library_is_refused_by_file_and_key(text: str, told: str, tmp_path: Path) -> None:
    shutil.copytree(data_folder("prompts") / "default", tmp_path / "mine")
    (tmp_path / "mine" / "act.examples.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ActingExamples.load(PromptSet(str(tmp_path / "mine")), WordEmbedder())
    assert str(caught.value).startswith(f"{tmp_path}/mine/act.examples.toml: ")
    assert told in str(caught.value)
