"""What the memory asks of a graph store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    replacement present.
    """

    step: int
    text: str
    learned: Sequence[Triplet]
    retired: Sequence[Retirement] = field(default_factory=tuple)


@dataclass(frozen=True)
class StepOutcome:
    """What a `StepChange` did: facts that are new or current again, facts retired."""

    added: tuple[Fact, ...]
    retired: tuple[Fact, ...]
    episode: Episode


class Store(Protocol):
    """A graph of facts and episodes. One process writes; `apply` is one transaction."""

    def apply(self, change: StepChange) -> StepOutcome:
        """Write one step, all of it or nothing. Steps must increase.

        Learning a current fact again changes nothing but the episode's mention; learning a
        retired fact opens a new interval. Raises `ArigraphError` on a step that does not
        increase, an unknown or already retired fact, or a retirement without its replacement.
        """
        ...

    def current(self) -> list[Fact]:
        """The semantic layer: facts true now, by id."""
        ...

    def incident(self, entities: Iterable[str]) -> list[Fact]:
        """Current facts whose subject or object is one of `entities`, by id."""
        ...

    def find(self, triplet: Triplet) -> Fact | None:
        """The fact with this triplet, current or retired."""
        ...

    def episodes(self) -> list[Episode]:
        """The episodic layer, by step."""
        ...

    def history(self, fact_id: int) -> tuple[Interval, ...]:
        """The intervals of a fact, oldest first."""
        ...

    def as_of(self, step: int) -> list[Fact]:
        """Facts that were current just after `step`, by id."""
        ...

    def close(self) -> None:
        """Release the database. Closing twice is harmless."""
        ...
