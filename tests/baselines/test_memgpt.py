"""The core that the model edits and the archive that it searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_prompts import assert_golden
from three_rooms_runs import folder_of, gear, prompts, recalled
from word_embedder import WordEmbedder

from arigraph_local.agent.long_term_memory import Cue, Experience
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.memgpt import CORE_LINES, Edit, MemGpt, parse_edit
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.runs.runner import run_episode

GOLDEN = Path(__file__).parent / "golden"


def paged(k: int = 3) -> MemGpt:
    return MemGpt(MemoryAsker(ScriptedEngine({}), PromptSet(), "win"), WordEmbedder(), k)


def sections(memory: MemGpt, shown: frozenset[int] = frozenset()) -> dict[str, tuple[str, ...]]:
    found = memory.recall(Cue(100, (), shown), lambda _: None)
    return {section.heading: section.items for section in found.sections}


def test_the_model_deletes_and_adds_lines_of_its_core(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", "memgpt")
    run_episode(folder, gear())
    asked = prompts(folder, "memgpt")
    assert "(empty)" in asked[0]
    assert_golden(GOLDEN / "memgpt.txt", asked[1])
    assert "1. I was in Study" in asked[2]
    assert "I was in Hall" not in asked[2].partition("Core memory")[2]


def test_what_the_core_has_no_room_for_goes_to_the_archive() -> None:
    memory = paged()
    for step in range(1, CORE_LINES + 2):
        memory.take(Experience(step, ""), {"add": [f"line {step}"], "search": "line 1"})
    found = sections(memory)
    assert found["Core memory"] == tuple(f"line {step}" for step in range(2, CORE_LINES + 2))
    assert found["Found in the archive"] == (f"(step {CORE_LINES + 1}) line 1",)


def test_the_archive_is_searched_for_what_the_model_asked(tmp_path: Path) -> None:
    last = recalled("memgpt", tmp_path, retrieved=2)[-1]
    found = dict(last.sections)["Found in the archive"]
    assert len(found) == 2
    assert "key" in found[0]


def test_nothing_is_found_without_a_search_and_nothing_that_is_shown_already() -> None:
    memory = paged()
    memory.take(Experience(1, "a red door"), {"search": ""})
    assert sections(memory)["Found in the archive"] == ()
    memory.take(Experience(2, "a blue door"), {"search": "door"})
    assert sections(memory, frozenset({2}))["Found in the archive"] == ("(step 1) a red door",)


@pytest.mark.parametrize("reply", ["", '{"add": ["cut o', '{"add": "no list"}'])
def test_a_reply_that_was_cut_off_changes_nothing(reply: str) -> None:
    assert parse_edit(reply) == Edit()
