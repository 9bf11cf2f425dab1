"""What the memory asks of a graph store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from arigraph_local.memory.triplet import Triplet


@dataclass(frozen=True)
class Fact:
    """A triplet with its surrogate id. The id is given at first learning and never changes."""

    id: int
    triplet: Triplet


@dataclass(frozen=True)
class Interval:
    """When a fact was held true: from step `start` until step `end` (None: still).

    `replaced_by` is the id of the fact that retired it, `reason` why.
    """

    start: int
    end: int | None = None
    replaced_by: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Episode:
    """One observation (v_e) with the ids of the facts extracted from it (E_s, its hyperedge)."""

    step: int
    text: str
    fact_ids: frozenset[int]


@dataclass(frozen=True)
class Retirement:
    """A current fact to retire, the triplet that replaces it, and why."""

    fact_id: int
    replacement: Triplet
    reason: str


@dataclass(frozen=True)
class StepChange:
    """All that one step writes: facts retired, triplets learned, the episode.

    Every `Retirement.replacement` must be among `learned`: nothing is retired without its
    replacement present. `wordings` gives, for learned triplets that were changed by merging
    near-duplicate entities, the triplet as it was extracted, so that merging can be undone.
    """

    step: int
    text: str
    learned: Sequence[Triplet]
    retired: Sequence[Retirement] = field(default_factory=tuple)
    wordings: Mapping[Triplet, Triplet] = field(default_factory=dict)


@dataclass(frozen=True)
class StepOutcome:
    """What a `StepChange` did: facts that are new or current again, facts retired."""

    added: tuple[Fact, ...]
    retired: tuple[Fact, ...]
    episode: Episode


class Store(Protocol):
    """A graph of facts and episodes. One process writes; `apply` is one transaction.

    Ids of facts are dense and begin at 1, in order of first learning. Reads take microseconds
    and never wait for the disk.
    """

    @property
    def path(self) -> Path | None:
        """The database file; None in memory."""
        ...

    @property
    def last_step(self) -> int | None:
        """The step of the latest episode."""
        ...

    def apply(self, change: StepChange) -> StepOutcome:
        """Write one step, all of it or nothing. Steps must increase.

        Retirements take effect before learning. Learning a current fact again changes nothing
        but the episode's mention; learning a retired fact opens a new interval. Raises
        `ArigraphError` on a step that does not increase, an unknown or already retired fact, a
        retirement without its replacement, or a wording of a triplet that is not learned;
        `RunError` if the step cannot be written.
        """
        ...

    def current(self) -> list[Fact]:
        """The semantic layer: facts true now, by id."""
        ...

    def current_count(self) -> int:
        """How many facts are true now."""
        ...

    def incident(self, entities: Iterable[str]) -> list[Fact]:
        """Current facts whose subject or object is one of `entities`, by id."""
        ...

    def find(self, triplet: Triplet) -> Fact | None:
        """The fact with this triplet, current or retired."""
        ...

    def fact(self, fact_id: int) -> Fact:
        """The fact with this id, current or retired. Raises `ArigraphError` if there is none."""
        ...

    def is_current(self, fact_id: int) -> bool:
        """Whether this fact is true now."""
        ...

    def knows(self, entity: str) -> bool:
        """Whether a current fact has this entity."""
        ...

    def entities(self) -> list[str]:
        """All entities ever named, retired facts included, in order of first learning."""
        ...

    def facts_of(self, entity: str) -> list[Fact]:
        """All facts of an entity, current and retired, by id."""
        ...

    def episodes(self) -> list[Episode]:
        """The episodic layer, by step."""
        ...

    def episode(self, step: int) -> Episode:
        """The episode of a step. Raises `ArigraphError` if there is none."""
        ...

    def mentions(self, fact_id: int) -> Sequence[int]:
        """Steps of the episodes that mention a fact, in order."""
        ...

    def wordings(self, fact_id: int) -> dict[int, Triplet]:
        """By step, what was extracted where merging entities made this fact of it."""
        ...

    def history(self, fact_id: int) -> tuple[Interval, ...]:
        """The intervals of a fact, oldest first. Raises `ArigraphError` for an unknown id."""
        ...

    def as_of(self, step: int) -> list[Fact]:
        """Facts that were current just after `step`, by id."""
        ...

    def changes(self) -> Iterator[StepChange]:
        """The steps as they were applied: applied to an empty store they give an equal one.

        Triplets learned come in order of their ids, retirements in order of theirs.
        """
        ...

    def close(self) -> None:
        """Release the database. Closing twice is harmless; reads still answer."""
        ...
