"""Reading a graph: its facts at any step, their history and origin, and the graph as a file.

No agent, model or embedder is needed: a store is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.store import Episode, Fact, Interval, Store
from arigraph_local.memory.reading.export import export_graph
from arigraph_local.memory.reading.networks import network_of
from arigraph_local.memory.triplet import Triplet, normalise

if TYPE_CHECKING:
    import networkx  # type: ignore[import-untyped, unused-ignore]


@dataclass(frozen=True)
class GraphDiff:
    """What differs between the graphs as of two steps: facts by id.

    `added` are current after the second step only, `retired` after the first only. A fact that
    was retired and learned again in between is in neither.
    """

    before: int
    after: int
    added: tuple[Fact, ...]
    retired: tuple[Fact, ...]


@dataclass(frozen=True)
class Provenance:
    """Where a fact comes from and what became of it.

    `episodes` mention it, oldest first; `replacements` retired it, one for each interval that
    ended; `wordings` gives, by step, what was extracted where a merged entity changed it.
    """

    fact: Fact
    current: bool
    intervals: tuple[Interval, ...]
    episodes: tuple[Episode, ...]
    replacements: tuple[Fact, ...]
    wordings: dict[int, Triplet]


@dataclass(frozen=True)
class HeldFact:
    """A fact and one of the intervals in which it was held true."""

    fact: Fact
    interval: Interval


class GraphView:
    """Everything a reader asks of a graph. Names are normalised before they are looked up."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def store(self) -> Store:
        """The graph itself: facts, episodes, their history."""
        return self._store

    def facts(
        self, entity: str | None = None, *, step: int | None = None, current: bool = True
    ) -> list[Fact]:
        """Facts by id: those true now, or just after `step`; of one entity if it is given.

        With `current=False` the retired ones too: every fact learned by then.
        """
        name = None if entity is None else normalise(entity)
        store = self._store
        if current and step is None:
            return store.current() if name is None else store.incident([name])
        if current and step is not None:
            return [f for f in store.as_of(step) if name is None or name in f.triplet.entities]
        learned = self._ever_learned() if name is None else store.facts_of(name)
        return [f for f in learned if step is None or store.history(f.id)[0].start <= step]

    def entities(self) -> list[str]:
        """All entities ever named, in order of first learning."""
        return self._store.entities()

    def episodes(self) -> list[Episode]:
        """The observations, by step, each with the ids of the facts it told."""
        return self._store.episodes()

    def as_of(self, step: int) -> list[Fact]:
        """The facts that were true just after `step`, by id."""
        return self._store.as_of(step)

    def diff(self, before: int, after: int) -> GraphDiff:
        """The difference between the graphs as of two steps, in whichever order they come."""
        old = {fact.id: fact for fact in self._store.as_of(before)}
        new = {fact.id: fact for fact in self._store.as_of(after)}
        return GraphDiff(
            before,
            after,
            added=tuple(fact for fact_id, fact in new.items() if fact_id not in old),
            retired=tuple(fact for fact_id, fact in old.items() if fact_id not in new),
        )

    def provenance(self, fact: Fact | Triplet | int) -> Provenance:
        """Intervals, episodes and replacements of a fact, given as such, by triplet or by id.

        Raises `ArigraphError` if the graph has never held it.
        """
        found = self._find(fact)
        store = self._store
        intervals = store.history(found.id)
        return Provenance(
            fact=found,
            current=store.is_current(found.id),
            intervals=intervals,
            episodes=tuple(map(store.episode, store.mentions(found.id))),
            replacements=tuple(
                store.fact(interval.replaced_by)
                for interval in intervals
                if interval.replaced_by is not None
            ),
            wordings=store.wordings(found.id),
        )

    def history(self, entity: str) -> list[HeldFact]:
        """The complete history of an entity: each of its facts as often as it was held true, by
        the step at which it was learned, then by id.
        """
        held = [
            HeldFact(fact, interval)
            for fact in self._store.facts_of(normalise(entity))
            for interval in self._store.history(fact.id)
        ]
        return sorted(held, key=lambda item: (item.interval.start, item.fact.id))

    def to_networkx(self, step: int | None = None) -> networkx.MultiDiGraph:
        """The facts true now, or just after `step`, as a directed multigraph.

        Nodes are the names of entities. The key of an edge is the id of its fact; it carries
        `relation`, `since` (the step at which the fact was last learned) and `steps` (those of
        the episodes that mention it).
        """
        return network_of(self._store, step)

    def export(self, path: Path, step: int | None = None) -> list[Path]:
        """Write the graph as it is, or as it was just after `step`; returns the files written.

        The suffix names the format: `.json` (facts with their intervals, episodes), `.graphml`
        (the facts true at that time), `.csv` (two files for `neo4j-admin database import`).
        Raises `UsageError` for another suffix, `RunError` if a file cannot be written; then
        nothing has been.
        """
        return export_graph(self._store, Path(path), step)

    def _find(self, fact: Fact | Triplet | int) -> Fact:
        if isinstance(fact, Fact):
            return self._store.fact(fact.id)
        if isinstance(fact, int):
            return self._store.fact(fact)
        found = self._store.find(fact)
        if found is None:
            raise ArigraphError(f"the graph has never held the fact ({fact})")
        return found

    def _ever_learned(self) -> Iterable[Fact]:
        ids = {fact_id for episode in self._store.episodes() for fact_id in episode.fact_ids}
        return [self._store.fact(fact_id) for fact_id in sorted(ids)]
