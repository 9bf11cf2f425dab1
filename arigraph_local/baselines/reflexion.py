"""Reflexion: what an attempt taught is carried to the next (Shinn et al. 2023, "Reflexion:
Language Agents with Verbal Reinforcement Learning").

Within an attempt there is the short history alone. At its end, unless it was won, the model says
what went wrong; the next attempt begins with the latest lessons.
"""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.long_term_memory import (
    Cue,
    Emit,
    Ending,
    Experience,
    Recollection,
    Section,
)
from arigraph_local.agent.working_memory import one_line
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.events import Event, MemoryLearned

HEADING = "Lessons of earlier attempts"
LESSONS = 3
"""How many lessons are kept, as in the paper's sequential decisions."""
LESSON_TOKENS = 200
_LESSON = "lesson"


class Reflexion(RecordedMemory):
    """`lessons` are those of earlier attempts, the oldest first."""

    def __init__(self, ask: MemoryAsker, lessons: Sequence[str]) -> None:
        self._ask = ask
        self._lessons = tuple(lessons)
        self._steps: dict[int, str] = {}

    def take(self, experience: Experience, record: Record) -> None:
        """Keep the step for the reflection at the end."""
        done = f"{experience.action}: " if experience.action else ""
        self._steps[experience.step] = f"{done}{one_line(experience.text)}"

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The lessons, the latest first."""
        return Recollection((Section(HEADING, self._lessons[::-1]),))

    def finish(self, experience: Experience, ending: Ending, emit: Emit) -> None:
        """Reflect on an attempt that was not won, from as many of its last steps as fit."""
        if ending.reason == "won":
            return
        self.take(experience, {})
        steps = list(self._steps.values())
        while True:
            values = {"lessons": self._lessons, "steps": steps, "ending": ending}
            if len(steps) < 2 or self._ask.fits("reflexion", LESSON_TOKENS, values):
                break
            del steps[: max(1, len(steps) // 8)]
        step = experience.step
        lesson = self._ask("reflexion", step, emit, tokens=LESSON_TOKENS, values=values)
        emit(MemoryLearned(step=step, record={_LESSON: lesson}))

    def resume(self, experience: Experience, event: Event) -> None:
        """Take up a step. A lesson ends a run, so that none is met in one that goes on."""
        if isinstance(event, MemoryLearned) and _LESSON not in event.record:
            self.take(experience, event.record)


def lessons_after(lessons: Sequence[str], events: Sequence[Event]) -> tuple[str, ...]:
    """What the attempt after this one begins with: `lessons` are those it began with itself,
    `events` its log."""
    learned = [
        str(event.record[_LESSON])
        for event in events
        if isinstance(event, MemoryLearned) and event.record.get(_LESSON)
    ]
    return (*lessons, *learned)[-LESSONS:]
