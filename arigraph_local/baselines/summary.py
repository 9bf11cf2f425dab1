"""Summary: a running summary that the model rewrites at every step (paper, Table 4)."""

from __future__ import annotations

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection, Section
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.recorded import Record, RecordedMemory

SUMMARY_TOKENS = 240
HEADING = "What happened so far"


class Summary(RecordedMemory):
    """All that is kept of the past is one text."""

    def __init__(self, ask: MemoryAsker) -> None:
        self._ask = ask
        self._summary = ""

    def think(self, experience: Experience, emit: Emit) -> Record:
        """Rewrite the summary with what the last action brought."""
        values = {
            "summary": self._summary,
            "action": experience.action,
            "observation": experience.text,
            "inventory": experience.inventory,
        }
        reply = self._ask("summary", experience.step, emit, tokens=SUMMARY_TOKENS, values=values)
        return {"summary": reply}

    def take(self, experience: Experience, record: Record) -> None:
        """Put the new summary in the place of the old."""
        self._summary = str(record["summary"])

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The summary."""
        return Recollection((Section(HEADING, (self._summary,) if self._summary else ()),))
