"""Every prompt as sent, after the chat template.

ARIGRAPH_GOLDEN=write rewrites the files after a wanted change; read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import three_rooms_script as script
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.config import make_config
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

GOLDEN = Path(__file__).parent / "golden"
TASKS = {"extract": 5, "outdated": 6, "plan": 6, "act": 6}


def played(folder: Path) -> RunFolder:
    run = RunFolder.create(folder / "run", make_config({"game": "three-rooms"}))
    run_episode(run, Equipment(script.engine(), WordEmbedder(), ThreeRooms(), "d", 10))
    return run


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    run = played(tmp_path_factory.mktemp("golden"))
    return {
        event.task: event.prompt
        for event in read_events(run.path)
        if event.kind == "model_call" and event.step == TASKS[event.task]
    }


@pytest.mark.parametrize("task", TASKS)
def test_the_prompt_is_the_golden_one(task: str, prompts: dict[str, str]) -> None:
    path = GOLDEN / f"{task}.txt"
    if os.environ.get("ARIGRAPH_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(prompts[task], encoding="utf-8")
    assert prompts[task] == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("task", TASKS)
def test_the_system_turn_is_sent_once_and_the_turns_alternate(
    task: str, prompts: dict[str, str]
) -> None:
    turns = [part.split("\n", 1)[0] for part in prompts[task].split("<|im_start|>")[1:]]
    assert turns[0] == "system"
    assert turns.count("system") == 1
    assert turns[1::2] == ["user"] * len(turns[1::2])
    assert turns[2::2] == ["assistant"] * len(turns[2::2])
    assert turns[-1] == "assistant"
