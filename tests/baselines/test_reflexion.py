"""Lessons: written at the end of an attempt, carried to the next."""

from __future__ import annotations

from pathlib import Path

from golden_prompts import assert_golden
from three_rooms_runs import folder_of, gear, prompts, recalled
from three_rooms_script import ACTIONS

from arigraph_local.agent.long_term_memory import Ending, Experience
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.reflexion import LESSONS, Reflexion, lessons_after
from arigraph_local.events import Event, MemoryLearned
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.runner import run_episode

GOLDEN = Path(__file__).parent / "golden"
LESSON = "Take the key first, then open the locker."


def test_an_attempt_that_is_not_won_ends_with_a_lesson(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", "reflexion")
    result = run_episode(folder, gear(steps=3))
    assert result.reason == "step_limit"
    assert result.tasks["reflexion"].calls == 1
    (asked,) = prompts(folder, "reflexion")
    assert_golden(GOLDEN / "reflexion.txt", asked)
    lessons = lessons_after(["Look into the study."], read_events(folder.path))
    assert lessons == ("Look into the study.", LESSON)


def test_an_attempt_that_is_won_teaches_nothing_new(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", "reflexion")
    run_episode(folder, gear(steps=len(ACTIONS)))
    assert prompts(folder, "reflexion") == []
    assert lessons_after(["a"], read_events(folder.path)) == ("a",)


def test_the_latest_lesson_is_recalled_first_at_every_step(tmp_path: Path) -> None:
    events = recalled("reflexion", tmp_path, lessons=["older", "newer"])
    assert len(events) == len(ACTIONS)
    assert {event.sections for event in events} == {
        (("Lessons of earlier attempts", ("newer", "older")),)
    }


def test_no_more_than_the_latest_lessons_are_kept() -> None:
    learned: list[Event] = [
        MemoryLearned(step=n, record={"lesson": f"lesson {n}"}) for n in range(6)
    ]
    assert lessons_after(["first"], learned) == tuple(f"lesson {n}" for n in range(6 - LESSONS, 6))


def test_a_long_attempt_is_told_from_where_it_fits() -> None:
    engine = ScriptedEngine({"reflexion": lambda _: "Be quick."}, context_tokens=600)
    memory = Reflexion(MemoryAsker(engine, PromptSet(), "win"), ())
    for step in range(1, 41):
        memory.observe(Experience(step, f"scene {step} of a walk without end"), lambda _: None)
    told: list[Event] = []
    memory.finish(Experience(41, "scene 41"), Ending("lost", 1, 3), told.append)
    (request,) = engine.requests
    shown = request.messages[-1].content
    assert "scene 41" in shown
    assert "scene 1 " not in shown
    assert "the game was lost) with 1 of 3 points" in shown
    assert lessons_after((), told) == ("Be quick.",)


def test_a_step_is_told_once_even_if_it_was_also_the_last() -> None:
    engine = ScriptedEngine({"reflexion": lambda _: "Be quick."})
    memory = Reflexion(MemoryAsker(engine, PromptSet(), "win"), ())
    memory.observe(Experience(1, "a dead end"), lambda _: None)
    memory.finish(Experience(1, "a dead end"), Ending("nothing_left", 0, 3), lambda _: None)
    assert engine.requests[0].messages[-1].content.count("a dead end") == 1
