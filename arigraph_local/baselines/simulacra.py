"""Simulacra: the memory stream of Generative Agents (Park et al. 2023, sections 4.1 and 4.2).

Each observation is rated by the model for its importance. Recalled is what scores best by recency,
importance and relevance, each scaled to 0…1 and summed; what is recalled is recent again. When the
importance of what came in adds up, the model reflects, and its insights join the stream. The
paper finds topics for a reflection first; here it looks at the latest memories, which saves calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection, Section
from arigraph_local.agent.working_memory import one_line
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.text_vectors import TextVectors

HEADING = "Memories that may matter"
DECAY = 0.99
"""Recency falls to this share with each step since a memory was last recalled."""
REFLECT_AT = 30
"""The summed importance at which the model reflects: every 4 to 8 steps."""
_REFLECTED_ON = 15
_INSIGHTS = 3
_IMPORTANCE_TOKENS = 4
_REFLECTION_TOKENS = 160


@dataclass
class _Memory:
    text: str
    step: int
    importance: int
    used: int
    insight: bool = False

    @property
    def told(self) -> str:
        return f"({'thought at ' if self.insight else ''}step {self.step}) {self.text}"


class Simulacra(RecordedMemory):
    """At most `k` memories are recalled."""

    def __init__(self, ask: MemoryAsker, embedder: Embedder, k: int) -> None:
        self._ask = ask
        self._vectors = TextVectors(embedder)
        self._k = k
        self._stream: list[_Memory] = []
        self._unreflected = 0

    def think(self, experience: Experience, emit: Emit) -> Record:
        """Rate an observation, and reflect if it is time."""
        text = one_line(experience.text)
        if not text:
            return {}
        step = experience.step
        importance = self._rate(step, text, experience.action, emit)
        if self._unreflected + importance < REFLECT_AT:
            return {"importance": importance}
        latest = [memory.told for memory in self._stream[1 - _REFLECTED_ON :]]
        insights = self._reflect(step, [*latest, f"(step {step}) {text}"], emit)
        rated = [[insight, self._rate(step, insight, None, emit)] for insight in insights]
        return {"importance": importance, "insights": rated}

    def take(self, experience: Experience, record: Record) -> None:
        """Add an observation and the insights that it led to."""
        if "importance" not in record:
            return
        step, importance = experience.step, int(record["importance"])
        self._stream.append(_Memory(one_line(experience.text), step, importance, step))
        self._unreflected += importance
        if "insights" in record:
            self._unreflected = 0
        for text, rated in record.get("insights", ()):
            self._stream.append(_Memory(str(text), step, int(rated), step, insight=True))

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The best of what the prompt does not show already, each wording once."""
        latest = {
            memory.text: memory
            for memory in self._stream
            if memory.insight or memory.step not in cue.shown_steps
        }
        memories = list(latest.values())
        looks = [look.text for look in cue.looks if look.text.strip()]
        if not memories or not looks:
            return Recollection((Section(HEADING, ()),))
        similar = self._vectors.of([memory.text for memory in memories])
        relevance = (similar @ self._vectors.of(looks).T).max(axis=1)
        recency = [DECAY ** (cue.step - memory.used) for memory in memories]
        importance = [memory.importance for memory in memories]
        score = _scaled(relevance) + _scaled(recency) + _scaled(importance)
        order = sorted(range(len(memories)), key=lambda row: (-score[row], -memories[row].step))
        return Recollection(
            (Section(HEADING, tuple(memories[row].told for row in order[: self._k])),)
        )

    def recalled(self, step: int, items: Sequence[str]) -> None:
        """What is recalled is recent again."""
        told = set(items)
        for memory in self._stream:
            if memory.told in told:
                memory.used = step

    def _rate(self, step: int, text: str, action: str | None, emit: Emit) -> int:
        values = {"text": text, "action": action}
        reply = self._ask("importance", step, emit, tokens=_IMPORTANCE_TOKENS, values=values)
        return int(reply) if reply.isdecimal() else 1

    def _reflect(self, step: int, memories: list[str], emit: Emit) -> list[str]:
        """Insights into what is in the memories, of which as many are shown as fit."""
        values = {"memories": memories}
        while len(memories) > 1 and not self._ask.fits("reflection", _REFLECTION_TOKENS, values):
            del memories[0]
        reply = self._ask(
            "reflection",
            step,
            emit,
            tokens=_REFLECTION_TOKENS,
            values=values,
            bounds={"insights": _INSIGHTS},
        )
        return texts_of(reply)


def texts_of(reply: str) -> list[str]:
    """The texts of a JSON list, each once; none of a reply that was cut off."""
    try:
        found = json.loads(reply)
    except ValueError:
        return []
    return list(dict.fromkeys(str(text) for text in found))


def _scaled(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Between 0 and 1; all 0 where the values are equal. The last digits depend on the order of
    sums; what is equal must stay so."""
    array = np.asarray(values, dtype=np.float64)
    low, high = array.min(), array.max()
    if high == low:
        return np.zeros_like(array)
    scaled: npt.NDArray[np.float64] = np.round((array - low) / (high - low), 9)
    return scaled
