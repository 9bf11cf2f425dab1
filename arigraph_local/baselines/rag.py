"""RAG: the past observations closest to the situation by their embeddings (paper, Table 4)."""

from __future__ import annotations

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection, Section
from arigraph_local.agent.working_memory import one_line
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.text_vectors import TextVectors

HEADING = "Earlier observations that may matter"


class Rag(RecordedMemory):
    """The `k` observations most similar to any of the texts searched for; equal ones latest
    first, each text once."""

    def __init__(self, embedder: Embedder, k: int) -> None:
        self._vectors = TextVectors(embedder)
        self._k = k
        self._texts: dict[str, int] = {}

    def take(self, experience: Experience, record: Record) -> None:
        """Keep an observation; seen again, it counts as of the later step."""
        if text := one_line(experience.text):
            self._texts[text] = experience.step

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The observations that the short history does not show, closest first."""
        texts = [text for text, step in self._texts.items() if step not in cue.shown_steps]
        looks = [look.text for look in cue.looks if look.text.strip()]
        if not texts or not looks:
            return Recollection((Section(HEADING, ()),))
        similar = (self._vectors.of(texts) @ self._vectors.of(looks).T).max(axis=1)
        scored = [
            (-float(score), -self._texts[text], text)
            for score, text in zip(similar, texts, strict=True)
        ]
        items = tuple(f"(step {-step}) {text}" for _, step, text in sorted(scored)[: self._k])
        return Recollection((Section(HEADING, items),))
