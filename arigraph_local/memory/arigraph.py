"""AriGraph: a knowledge-graph world model with episodic memory (paper section 2).

`AriGraph.update` learns from an observation; `AriGraph.search` recalls (Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import TracebackType

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.engine import Completion, Engine, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.embedder import Embedder
from arigraph_local.memory.episodic_search import FoundEpisode, episodic_search
from arigraph_local.memory.extraction import (
    Extraction,
    Rejected,
    extraction_request,
    mentioned_names,
    opening,
    parse_extraction,
)
from arigraph_local.memory.outdated import (
    Candidates,
    Pair,
    find_candidates,
    outdated_request,
    parse_pairs,
)
from arigraph_local.memory.semantic_search import FoundFact, Query, semantic_search
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.spatial import SpatialMap, direction_triplets
from arigraph_local.memory.store import Fact, Retirement, StepChange, Store
from arigraph_local.memory.triplet import Triplet, normalise
from arigraph_local.memory.vector_index import VectorIndex


@dataclass(frozen=True)
class Passage:
    """A move just made: leaving `origin` towards `direction` led to `destination`."""

    origin: str
    direction: str
    destination: str


@dataclass(frozen=True)
class ModelCall:
    """A request to the model and its completion, for the record."""

    task: str
    completion: Completion


@dataclass(frozen=True)
class MemoryUpdate:
    """What one observation did to the graph.

    `learned` is every triplet of the observation, `added` the facts among them that were not
    current before, `guarded` how many retirements each guard withheld.
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


@dataclass(frozen=True)
class Retrieval:
    """The triplets and episodes that Algorithm 1 returns, with their scores."""

    facts: tuple[FoundFact, ...]
    episodes: tuple[FoundEpisode, ...]


class AriGraph:
    """The memory of one agent, over any engine, embedder and store.

    A context manager: leaving it closes the store (not the engine).
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
    ) -> None:
        self._engine = engine
        self._embedder = embedder
        self._store = store
        self._prompts = prompts or PromptSet()
        self._settings = settings or MemorySettings()
        self._reply_seconds = reply_seconds
        self._opening = opening(self._prompts)
        self._index = VectorIndex(embedder)
        self._index.add(store.current())
        self._places: set[str] = set()
        self._empty_in_a_row = 0

    @property
    def store(self) -> Store:
        """The graph itself: facts, episodes, their history."""
        return self._store

    @property
    def settings(self) -> MemorySettings:
        """Widths, depths, guards."""
        return self._settings

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
        which the two direction triplets are added.

        Raises `ContextOverflowError` if the observation alone does not fit in the context, and
        `ArigraphError` after `max_empty_extractions` observations in a row without a triplet.
        """
        if step is None:
            episodes = self._store.episodes()
            step = episodes[-1].step + 1 if episodes else 1
        self.visited(location, passage)
        request, extracted, dropped = self._extract(observation, action, location)
        extraction = parse_extraction(extracted.text)
        self._count_empty(extraction, extracted)
        learned = self._with_directions(extraction.triplets, passage)
        candidates = self._candidates(learned)
        calls = [ModelCall("extract", extracted)]
        pairs: list[Pair] = []
        if candidates.pairs and self._settings.detect_outdated:
            answer, left_out = self._ask_outdated(candidates, request, extracted)
            dropped |= left_out
            if answer is not None:
                calls.append(ModelCall("outdated", answer))
                pairs = parse_pairs(answer.text, candidates)
        added = self.write(step, observation, learned, pairs)
        return MemoryUpdate(
            step=step,
            text=observation,
            learned=learned,
            added=added,
            retired=tuple(pairs),
            rejected=extraction.rejected,
            guarded=candidates.guarded,
            calls=tuple(calls),
            dropped=dropped,
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

        A plain string is searched to depth `d`; a `Query` brings its own depth. Episodes of
        `exclude_steps` are not returned. Defaults come from the settings.
        """
        settings = self._settings
        depth = settings.depth if d is None else d
        facts = semantic_search(
            [query if isinstance(query, Query) else Query(query, depth) for query in queries],
            self._index,
            self._embedder,
            {fact.id: fact for fact in self._store.current()},
            width=settings.width if w is None else w,
            threshold=self._threshold,
        )
        episodes = episodic_search(
            [found.fact.id for found in facts],
            self._store.episodes(),
            k=settings.episodes if k is None else k,
            exclude_steps=exclude_steps,
        )
        return Retrieval(tuple(facts), tuple(episodes))

    def write(
        self, step: int, text: str, learned: Sequence[Triplet], pairs: Sequence[Pair]
    ) -> tuple[Fact, ...]:
        """Write one step that is already decided, as when a run is rebuilt from its log."""
        outcome = self._store.apply(
            StepChange(
                step,
                text,
                learned,
                [Retirement(pair.fact.id, pair.replacement, pair.reason) for pair in pairs],
            )
        )
        self._index.add(outcome.added)
        return outcome.added

    def visited(self, location: str | None, passage: Passage | None = None) -> None:
        """Note that these names are locations: an edge between two is never retired."""
        names = [location, *((passage.origin, passage.destination) if passage else ())]
        self._places.update(normalise(name) for name in names if name)

    def map(self) -> SpatialMap:
        """Passages, exits and routes between the visited locations, from the current facts."""
        return SpatialMap.from_facts(self._store.current(), self._places)

    def close(self) -> None:
        """Close the store."""
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

    @property
    def _threshold(self) -> float:
        if self._settings.threshold is None:
            return self._embedder.threshold
        return self._settings.threshold

    def _extract(
        self, observation: str, action: str | None, location: str | None
    ) -> tuple[Request, Completion, dict[str, int]]:
        """Ask for triplets; if the prompt is too long, leave out the known names."""
        known = {name for fact in self._store.current() for name in fact.triplet.entities}
        names = mentioned_names(observation, sorted(known), self._settings.max_known_names)
        dropped: dict[str, int] = {}
        while True:
            request = extraction_request(
                self._prompts,
                self._settings,
                self._opening,
                observation,
                action=action,
                location=location,
                names=names,
                seconds=self._reply_seconds,
            )
            try:
                return request, self._engine.generate([request])[0], dropped
            except ContextOverflowError:
                if not names:
                    raise
                dropped = {"names": len(names)}
                names = []

    def _ask_outdated(
        self, candidates: Candidates, request: Request, extracted: Completion
    ) -> tuple[Completion | None, dict[str, int]]:
        """Ask which facts are outdated; a question that does not fit retires nothing."""
        question = outdated_request(self._prompts, candidates, request, extracted)
        try:
            return self._engine.generate([question])[0], {}
        except ContextOverflowError:
            return None, {"outdated candidates": len(candidates.facts)}

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
        return fact is not None and any(i.end is None for i in self._store.history(fact.id))

    def _with_directions(
        self, triplets: Sequence[Triplet], passage: Passage | None
    ) -> tuple[Triplet, ...]:
        if passage is None:
            return tuple(triplets)
        directions = direction_triplets(passage.origin, passage.direction, passage.destination)
        return tuple(dict.fromkeys((*triplets, *directions)))

    def _count_empty(self, extraction: Extraction, extracted: Completion) -> None:
        self._empty_in_a_row = 0 if extraction.triplets else self._empty_in_a_row + 1
        limit = self._settings.max_empty_extractions
        if limit and self._empty_in_a_row >= limit:
            raise ArigraphError(
                f"the model extracted no triplet from {limit} observations in a row; "
                f"its last reply: {extracted.text[:200]!r}"
            )
