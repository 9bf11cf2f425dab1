"""MemGPT: a small core that the model edits, and an archive that it searches (Packer et al. 2023,
"MemGPT: Towards LLMs as Operating Systems").

At each step the model is asked once, for all its edits and one search together: small models do not
manage chains of function calls. What no longer fits in the core is moved to the archive, where
every observation goes too.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.agent.long_term_memory import Cue, Emit, Experience, Recollection, Section
from arigraph_local.agent.working_memory import one_line
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.recorded import Record, RecordedMemory
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.text_vectors import TextVectors

CORE = "Core memory"
FOUND = "Found in the archive"
CORE_LINES = 8
EDIT_TOKENS = 220


class Edit(BaseModel):
    """The reply: numbers of core lines to delete, from 1; lines to add to the core; notes for the
    archive; what to search the archive for, maybe nothing."""

    model_config = ConfigDict(extra="forbid")

    delete: tuple[int, ...] = ()
    add: tuple[str, ...] = ()
    archive: tuple[str, ...] = ()
    search: str = ""


class MemGpt(RecordedMemory):
    """At most `k` texts are brought from the archive."""

    def __init__(self, ask: MemoryAsker, embedder: Embedder, k: int) -> None:
        self._ask = ask
        self._vectors = TextVectors(embedder)
        self._k = k
        self._core: list[str] = []
        self._archive: dict[str, int] = {}
        self._notes: set[str] = set()
        self._search = ""

    def think(self, experience: Experience, emit: Emit) -> Record:
        """What the model changes in its memory on an observation; nothing if it is cut off."""
        values = {
            "core": self._core,
            "lines": CORE_LINES,
            "action": experience.action,
            "observation": experience.text,
            "inventory": experience.inventory,
        }
        bounds = {"core": len(self._core)}
        reply = self._ask(
            "memgpt", experience.step, emit, tokens=EDIT_TOKENS, values=values, bounds=bounds
        )
        return parse_edit(reply).model_dump(mode="json")

    def take(self, experience: Experience, record: Record) -> None:
        """Carry out the edits, and put the observation into the archive."""
        edit = Edit.model_validate(record)
        core = [line for number, line in enumerate(self._core, 1) if number not in edit.delete]
        core = list(dict.fromkeys((*core, *map(one_line, edit.add))))
        pushed_out, self._core = core[:-CORE_LINES], core[-CORE_LINES:]
        notes = [text for text in (*map(one_line, edit.archive), *pushed_out) if text]
        self._notes.update(notes)
        for text in filter(None, (one_line(experience.text), *notes)):
            self._archive[text] = experience.step
        self._search = edit.search

    def bring(self, cue: Cue, emit: Emit) -> Recollection:
        """The core, and what of the archive is closest to what the model searched for."""
        found: tuple[str, ...] = ()
        texts = [
            text
            for text, step in self._archive.items()
            if text in self._notes or step not in cue.shown_steps
        ]
        if texts and self._search.strip():
            similar = self._vectors.of(texts) @ self._vectors.of([self._search])[0]
            scored = [
                (-float(score), -self._archive[text], text)
                for score, text in zip(similar, texts, strict=True)
            ]
            found = tuple(f"(step {-step}) {text}" for _, step, text in sorted(scored)[: self._k])
        return Recollection((Section(CORE, tuple(self._core)), Section(FOUND, found)))


def parse_edit(reply: str) -> Edit:
    """The edit of a reply; one that changes nothing if the reply was cut off."""
    try:
        return Edit.model_validate_json(reply)
    except ValidationError:
        return Edit()
