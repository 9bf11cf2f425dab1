"""The memory stream: importance, recency, relevance, reflections."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_prompts import assert_golden
from three_rooms_runs import folder_of, gear, prompts, recalled
from word_embedder import WordEmbedder

from arigraph_local.agent.long_term_memory import Cue, Experience, Look
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.simulacra import DECAY, Simulacra, texts_of
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.runs.runner import run_episode

GOLDEN = Path(__file__).parent / "golden"


def stream(k: int = 1) -> Simulacra:
    return Simulacra(MemoryAsker(ScriptedEngine({}), PromptSet(), "win"), WordEmbedder(), k)


def take(memory: Simulacra, step: int, text: str, importance: int, **more: object) -> None:
    memory.take(Experience(step, text), {"importance": importance, **more})


def best(memory: Simulacra, text: str, step: int = 100) -> list[str]:
    found = memory.recall(Cue(step, (Look(text),), frozenset()), lambda _: None)
    return [item for section in found.sections for item in section.items]


def test_of_equally_recent_and_relevant_memories_the_more_important_comes_first() -> None:
    memory = stream()
    take(memory, 1, "apple tree", 2)
    take(memory, 2, "apple cake", 9)
    take(memory, 3, "apple juice", 2)
    assert best(memory, "apple") == ["(step 2) apple cake"]


def test_of_equally_important_memories_the_more_relevant_comes_first() -> None:
    memory = stream()
    take(memory, 1, "golden key", 5)
    take(memory, 2, "white door", 5)
    take(memory, 3, "red carpet", 5)
    memory.recalled(9, ["(step 1) golden key", "(step 2) white door", "(step 3) red carpet"])
    assert best(memory, "golden key") == ["(step 1) golden key"]


def test_what_was_recalled_is_recent_again() -> None:
    def order(*, recalled_before: bool) -> list[str]:
        memory = stream(k=2)
        take(memory, 1, "old lamp", 5)
        take(memory, 40, "new lamp", 5)
        if recalled_before:
            memory.recalled(60, ["(step 1) old lamp"])
        return best(memory, "lamp")

    assert order(recalled_before=False) == ["(step 40) new lamp", "(step 1) old lamp"]
    assert order(recalled_before=True) == ["(step 1) old lamp", "(step 40) new lamp"]
    assert 0 < DECAY < 1


def test_insights_join_the_stream_when_enough_of_importance_came_in(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", "simulacra")
    run_episode(folder, gear())
    reflections = prompts(folder, "reflection")
    # 8, 8, 9, 8 and 9 for a key in sight: the fourth step passes 30.
    assert len(reflections) == 1
    assert "- (step 4) " in reflections[0]
    assert_golden(GOLDEN / "reflection.txt", reflections[0])
    assert_golden(GOLDEN / "importance.txt", prompts(folder, "importance")[1])
    last = recalled("simulacra", tmp_path / "again", retrieved=10)[-1]
    ((heading, items),) = last.sections
    assert heading == "Memories that may matter"
    assert "(thought at step 4) The key opens the locker" in items


def test_a_reflection_shows_no_more_than_fits_in_the_context() -> None:
    replies = {"importance": lambda _: "10", "reflection": lambda _: '["So it is"]'}
    engine = ScriptedEngine(replies, context_tokens=420)
    memory = Simulacra(MemoryAsker(engine, PromptSet(), "win"), WordEmbedder(), 3)
    for step in range(1, 4):
        memory.observe(Experience(step, f"moment {step} " + "of a long day " * 25), lambda _: None)
    (asked,) = (request for request in engine.requests if request.task == "reflection")
    shown = asked.messages[-1].content
    assert "moment 3" in shown
    assert "moment 1" not in shown


@pytest.mark.parametrize(
    ("reply", "texts"),
    [('["a", "b", "a"]', ["a", "b"]), ("[]", []), ('["cut o', []), ("", [])],
)
def test_a_reply_that_was_cut_off_has_no_insights(reply: str, texts: list[str]) -> None:
    assert texts_of(reply) == texts
