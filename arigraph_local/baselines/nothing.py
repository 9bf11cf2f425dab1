"""No long-term memory: the current observation and the short history are all there is."""

from __future__ import annotations

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection
from arigraph_local.baselines.recorded import Record, RecordedMemory


class NoMemory(RecordedMemory):
    """The floor of every comparison."""

    def take(self, experience: Experience, record: Record) -> None:
        """Keep nothing."""

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """Recall nothing."""
        return Recollection()
