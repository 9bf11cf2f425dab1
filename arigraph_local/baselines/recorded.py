"""Memories whose every step is one record in the log, from which they are taken up again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from arigraph_local.agent.long_term_memory import (
    Cue,
    Emit,
    Experience,
    LongTermMemory,
    Recollection,
)
from arigraph_local.agent.recording import emit_recalled
from arigraph_local.events import Event, MemoryLearned, Recalled

Record = dict[str, Any]


class RecordedMemory(LongTermMemory):
    """`observe` thinks, logs what it thought, and takes it; `resume` takes it from the log.

    Subclasses need `take` and `bring`; one that asks a model does so in `think`.
    """

    def observe(self, experience: Experience, emit: Emit) -> None:
        """Learn from an observation."""
        record = self.think(experience, emit)
        emit(MemoryLearned(step=experience.step, record=record))
        self.take(experience, record)

    def resume(self, experience: Experience, event: Event) -> None:
        """Take up what was learned from an observation, and that it was recalled."""
        if isinstance(event, MemoryLearned):
            self.take(experience, event.record)
        elif isinstance(event, Recalled):
            self.recalled(event.step, [item for _, items in event.sections for item in items])

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """What matters to the situation, told to the log."""
        found = self.bring(cue, emit)
        emit_recalled(emit, cue.step, found)
        self.recalled(cue.step, [item for section in found.sections for item in section.items])
        return found

    def think(self, experience: Experience, emit: Emit) -> Record:
        """What there is to say of an observation beyond itself, as JSON."""
        return {}

    def recalled(self, step: int, items: Sequence[str]) -> None:
        """Take note of what was recalled in a step, now or in the log."""
        return

    @abstractmethod
    def take(self, experience: Experience, record: Record) -> None:
        """Keep an observation and what was thought of it."""
        ...

    @abstractmethod
    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """What to recall; it must depend on what was taken and recalled, and the cue, alone."""
        ...
