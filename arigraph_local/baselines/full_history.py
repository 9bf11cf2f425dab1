"""Full history: every step as turns of the conversation, cut from the oldest (paper, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.llm.engine import Message

# A guess on the safe side: what still does not fit is cut by the agent.
_CHARACTERS_PER_TOKEN = 3
_TOKENS_PER_TURN = 8


@dataclass(frozen=True)
class _Step:
    number: int
    text: str
    action: str

    @property
    def tokens(self) -> int:
        characters = len(self.text) + len(self.action)
        return characters // _CHARACTERS_PER_TOKEN + 2 * _TOKENS_PER_TURN


class FullHistory(RecordedMemory):
    """Observations are turns of the user and actions turns of the assistant, so that a model
    computes each of them once."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._last: Experience | None = None

    def take(self, experience: Experience, record: Record) -> None:
        """Keep the step before, whose action is known now."""
        if self._last is not None and experience.action is not None:
            self._steps.append(_Step(self._last.step, self._last.text, experience.action))
        self._last = experience

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """All steps that the short history does not show, as far as they fit."""
        older = [step for step in self._steps if step.number not in cue.shown_steps]
        turns: list[Message] = []
        for step in _cut(older, cue.tokens):
            turns.append(Message("user", f"Step {step.number}.\n{step.text}", joined=True))
            turns.append(Message("assistant", step.action))
        return Recollection(turns=tuple(turns))


def _cut(steps: Sequence[_Step], limit: int) -> list[_Step]:
    """The latest steps, as they are left when half of the room is freed whenever it is full: then
    most steps leave the beginning, which was computed before, as it is."""
    kept: list[_Step] = []
    size = 0
    for step in steps:
        kept.append(step)
        size += step.tokens
        if size > limit:
            while kept and size > limit // 2:
                size -= kept.pop(0).tokens
    return kept
