"""AriGraph: a knowledge-graph world model with episodic memory (paper section 2).

`AriGraph.update` learns from an observation; `AriGraph.search` recalls (Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.graph.store import Fact, Retirement, StepChange, Store
from arigraph_local.memory.learning.entity_merging import EntityMerging, Merged, Merging
from arigraph_local.memory.learning.extraction import Rejected
from arigraph_local.memory.learning.mentioning import mentioned_names
from arigraph_local.memory.learning.observing import ModelCall, Observer
from arigraph_local.memory.learning.outdated import Candidates, Pair, find_candidates
from arigraph_local.memory.reading.graph_view import GraphView
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.episodic_search import FoundEpisode, episodic_search
from arigraph_local.memory.search.ranking import make_ranking
from arigraph_local.memory.search.semantic_search import FoundFact, Query, semantic_search
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialFacts, SpatialMap
from arigraph_local.memory.triplet import Triplet, normalise


@dataclass(frozen=True)
class MemoryUpdate:
    """What one observation did to the graph.

    `learned` is every triplet of the observation, `added` the facts among them that were not
    current before, `guarded` how many retirements each guard withheld. `merged` are names taken
    for known entities from now on; `wordings` what was extracted where merging changed it.
    """

    step: int
    text: str
    learned: tuple[Triplet, ...]
    added: tuple[Fact, ...]
    retired: tuple[Pair, ...]
    rejected: tuple[Rejected, ...]
    guarded: dict[str, int]
    calls: tuple[ModelCall, ...]
    dropped: dict[str, int]
    merged: tuple[Merged, ...]
    wordings: dict[Triplet, Triplet]


@dataclass(frozen=True)
class Retrieval:
    """The triplets and episodes that Algorithm 1 returns, with their scores."""

    facts: tuple[FoundFact, ...]
    episodes: tuple[FoundEpisode, ...]


class AriGraph(GraphView):
    """The memory of one agent, over any engine, embedder and store.

    A context manager: leaving it closes the store and the vectors (not the engine).
    """

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder,
        store: Store,
        *,
        prompts: PromptSet | None = None,
        settings: MemorySettings | None = None,
        reply_seconds: float | None = None,
        vectors: Path | None = None,
    ) -> None:
        """`vectors` is the file that keeps embeddings; if None, `NAME.vectors` beside the graph
        `NAME.…`, or memory alone for a graph in memory. A store that already holds a graph is
        taken up where it ends.
        """
        super().__init__(store)
        self._settings = settings or MemorySettings()
        self._observer = Observer(engine, prompts or PromptSet(), self._settings, reply_seconds)
        if vectors is None and store.path is not None:
            vectors = store.path.with_suffix(".vectors")
        self._vectors = TextVectors(embedder, similarity=self._settings.similarity, file=vectors)
        threshold = self._settings.threshold
        self._threshold = embedder.threshold if threshold is None else threshold
        self._ranking = make_ranking(self._settings.ranking, self._vectors)
        self._places: set[str] = set()
        try:
            self._ranking.add(store.current())
            self._spatial = SpatialFacts(store)
            self._merging = self._merging_of(store) if self._settings.merge_entities else None
        except BaseException:
            self._vectors.close()
            raise

    @property
    def settings(self) -> MemorySettings:
        """Widths, depths, guards."""
        return self._settings

    @property
    def vectors(self) -> TextVectors:
        """The texts embedded so far: facts, names, queries."""
        return self._vectors

    @property
    def places(self) -> frozenset[str]:
        """Names of the locations visited so far."""
        return frozenset(self._places)

    def update(
        self,
        observation: str,
        *,
        step: int | None = None,
        action: str | None = None,
        location: str | None = None,
        passage: Passage | None = None,
    ) -> MemoryUpdate:
        """Learn from one observation: extract, find incident facts, retire, merge, remember.

        `step` defaults to one after the last episode. `location` and `passage` are the scaffold
        of the paper's appendix B: where the player stands and the move that led there, from
        which the two direction triplets are added. A blank observation is remembered as an
        episode without being put to the model.

        Raises `ContextOverflowError` if the observation alone does not fit in the context, and
        `ArigraphError` after `max_empty_extractions` observations in a row without a triplet.
        """
        step = self._next_step() if step is None else step
        self.visited(location, passage)
        names = mentioned_names(observation, self._store.knows, self._settings.max_known_names)
        reading = self._observer.extract(observation, action, location, names)
        merging = self._merged(reading.extraction.triplets, passage)
        candidates = self._candidates(merging.triplets)
        reading = self._observer.ask_outdated(reading, candidates)
        added = self.write(step, observation, merging.triplets, reading.pairs, merging.wordings)
        return MemoryUpdate(
            step=step,
            text=observation,
            learned=merging.triplets,
            added=added,
            retired=reading.pairs,
            rejected=(*reading.extraction.rejected, *merging.rejected),
            guarded=candidates.guarded,
            calls=reading.calls,
            dropped=reading.dropped,
            merged=merging.merged,
            wordings=merging.wordings,
        )

    def search(
        self,
        queries: Sequence[str | Query],
        *,
        k: int | None = None,
        d: int | None = None,
        w: int | None = None,
        exclude_steps: Collection[int] = (),
    ) -> Retrieval:
        """Algorithm 1: semantic search for each query, then the k best episodes (Eq. 1).

        A plain string is searched to depth `d`; a `Query` brings its own depth; a blank one finds
        nothing. Episodes of `exclude_steps` are not returned. Defaults come from the settings.
        """
        settings = self._settings
        depth = settings.depth if d is None else d
        asked = (query if isinstance(query, Query) else Query(query, depth) for query in queries)
        facts = semantic_search(
            [query for query in asked if query.text.strip()],
            self._ranking,
            self._store.fact,
            width=settings.width if w is None else w,
            threshold=self._threshold,
        )
        episodes = episodic_search(
            [found.fact.id for found in facts],
            self._store,
            k=settings.episodes if k is None else k,
            exclude_steps=exclude_steps,
        )
        return Retrieval(tuple(facts), tuple(episodes))

    def write(
        self,
        step: int,
        text: str,
        learned: Sequence[Triplet],
        pairs: Sequence[Pair] = (),
        wordings: Mapping[Triplet, Triplet] | None = None,
    ) -> tuple[Fact, ...]:
        """Write one step that is already decided, as when a run is rebuilt from its log.

        Triplets are written as they are; `make_triplet` makes normalised ones. Raises
        `ArigraphError` for one with an empty part or that links an entity to itself, and what the
        embedder and the store raise; then nothing of the step is written.
        """
        _require_whole(step, learned)
        # Embedded first: what cannot be embedded must not get into the graph either.
        self._vectors.of([str(triplet) for triplet in learned if not self._is_current(triplet)])
        retired = [Retirement(pair.fact.id, pair.replacement, pair.reason) for pair in pairs]
        outcome = self._store.apply(StepChange(step, text, learned, retired, wordings or {}))
        gone = [fact for fact in outcome.retired if not self._store.is_current(fact.id)]
        self._ranking.retire(gone)
        self._ranking.add(outcome.added)
        self._spatial.retire(outcome.retired)
        self._spatial.learn(outcome.added)
        if self._merging is not None:
            self._merging.note(learned, wordings or {})
        return outcome.added

    def visited(self, location: str | None, passage: Passage | None = None) -> None:
        """Note that these names are locations: an edge between two is never retired."""
        names = [location, *((passage.origin, passage.destination) if passage else ())]
        self._places.update(normalise(name) for name in names if name)

    def map(self) -> SpatialMap:
        """Passages, exits and routes between the visited locations, from the current facts."""
        return self._spatial.map(self._places)

    def close(self) -> None:
        """Close the vectors and the store. Closing twice is harmless."""
        try:
            self._vectors.close()
        finally:
            self._store.close()

    def __enter__(self) -> AriGraph:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _next_step(self) -> int:
        last = self._store.last_step
        return 1 if last is None else last + 1

    def _merging_of(self, store: Store) -> EntityMerging:
        return EntityMerging(
            self._vectors, self._settings, names=store.entities(), changes=store.changes()
        )

    def _merged(self, triplets: tuple[Triplet, ...], passage: Passage | None) -> Merging:
        """What is learned: the extracted triplets, merged, and the two of a move."""
        merging = Merging(triplets)
        if self._merging is not None:
            merging = self._merging.merge(triplets, self._places)
        return merging.also(() if passage is None else passage.triplets())

    def _candidates(self, learned: Sequence[Triplet]) -> Candidates:
        entities = {name for triplet in learned for name in triplet.entities}
        return find_candidates(
            self._store.incident(entities),
            [triplet for triplet in learned if not self._is_current(triplet)],
            restated=learned,
            places=self._places,
            settings=self._settings,
        )

    def _is_current(self, triplet: Triplet) -> bool:
        fact = self._store.find(triplet)
        return fact is not None and self._store.is_current(fact.id)


def _require_whole(step: int, learned: Sequence[Triplet]) -> None:
    for triplet in learned:
        if not triplet.is_whole:
            raise ArigraphError(
                f"step {step}: the triplet ({triplet}) has an empty part or is a self-loop"
            )
