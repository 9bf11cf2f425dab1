"""AriGraph as the agent's long-term memory (paper section 3)."""

from __future__ import annotations

from arigraph_local.agent.long_term_memory import (
    Cue,
    Emit,
    Experience,
    LongTermMemory,
    Recollection,
    Section,
)
from arigraph_local.agent.recording import emit_retrieval, emit_update
from arigraph_local.agent.working_memory import one_line
from arigraph_local.events import Event
from arigraph_local.memory.arigraph import AriGraph, Retrieval
from arigraph_local.memory.search.semantic_search import Query
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialMap

FACTS = "Facts in memory"
EPISODES = "Earlier scenes that may matter"


class AriGraphMemory(LongTermMemory):
    """Learns every observation into a graph and recalls by Algorithm 1. Closing it closes the
    graph."""

    def __init__(self, graph: AriGraph) -> None:
        self.graph = graph

    def observe(self, experience: Experience, emit: Emit) -> None:
        """Extract, retire, merge, remember."""
        update = self.graph.update(
            experience.text,
            step=experience.step,
            action=experience.action,
            location=experience.location,
            passage=experience.passage,
        )
        emit_update(emit, update, self.graph.store.current_count())

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """The triplets and episodes that the texts of the cue lead to."""
        depth = self.graph.settings.depth
        queries = [
            Query(look.text, depth if look.depth is None else look.depth) for look in cue.looks
        ]
        found = self.graph.search(queries, exclude_steps=cue.shown_steps)
        emit_retrieval(emit, cue.step, queries, found)
        return Recollection(self._sections(found))

    def resume(self, experience: Experience, event: Event) -> None:
        """Nothing: the graph itself was brought to where the log ends."""

    def visited(self, location: str | None, passage: Passage | None) -> None:
        """Note names of locations: an edge between two is never retired."""
        self.graph.visited(location, passage)

    def map(self) -> SpatialMap:
        """Passages, exits and routes between the visited locations, from the current facts."""
        return self.graph.map()

    def close(self) -> None:
        """Close the graph."""
        self.graph.close()

    def _sections(self, found: Retrieval) -> tuple[Section, ...]:
        facts = tuple(str(hit.fact.triplet) for hit in found.facts)
        episodes = tuple(
            f"(step {hit.episode.step}) {one_line(hit.episode.text)}" for hit in found.episodes
        )
        shown = facts if self.graph.settings.semantic else ()
        return (Section(FACTS, shown), Section(EPISODES, episodes))
