"""Summary: a running summary that the model rewrites at every step (paper, Table 4)."""

from __future__ import annotations

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection, Section
from arigraph_local.agent.recording import called
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.llm.engine import Engine, Limits, Message, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.observing import ModelCall

SUMMARY_TOKENS = 240
HEADING = "What happened so far"


class Summary(RecordedMemory):
    """All that is kept of the past is one text."""

    def __init__(
        self, engine: Engine, prompts: PromptSet, goal: str, reply_seconds: float | None = None
    ) -> None:
        self._engine = engine
        self._prompts = prompts
        self._reply_seconds = reply_seconds
        self._system = Message("system", prompts.system("summary", goal=goal))
        self._summary = ""

    def think(self, experience: Experience, emit: Emit) -> Record:
        """Rewrite the summary with what the last action brought."""
        user = self._prompts.user(
            "summary",
            summary=self._summary,
            action=experience.action,
            observation=experience.text,
            inventory=experience.inventory,
        )
        request = Request(
            task="summary",
            conversation="memory",
            messages=(self._system, Message("user", user)),
            limits=Limits(SUMMARY_TOKENS, self._reply_seconds),
            grammar=self._prompts.grammar("summary"),
        )
        completion = self._engine.generate([request])[0]
        emit(called(experience.step, ModelCall("summary", completion)))
        return {"summary": completion.text.strip()}

    def take(self, experience: Experience, record: Record) -> None:
        """Put the new summary in the place of the old."""
        self._summary = str(record["summary"])

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The summary."""
        return Recollection((Section(HEADING, (self._summary,) if self._summary else ()),))
