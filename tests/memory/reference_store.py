"""The semantics of `Store` said as plainly as possible: what the Kùzu store is tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.store import Episode, Fact, Interval, StepChange, StepOutcome
from arigraph_local.memory.triplet import Triplet


@dataclass
class ReferenceStore:
    """A `Store` as a list of triplets, their intervals, and the episodes."""

    triplets: list[Triplet] = field(default_factory=list)
    intervals: list[list[Interval]] = field(default_factory=list)
    log: list[Episode] = field(default_factory=list)
    applied: list[StepChange] = field(default_factory=list)
    path: Path | None = None

    @property
    def last_step(self) -> int | None:
        return self.log[-1].step if self.log else None

    def apply(self, change: StepChange) -> StepOutcome:
        if self.log and change.step <= self.log[-1].step:
            raise ArigraphError("step")
        gone: list[int] = []
        for retirement in change.retired:
            held = [fact.id for fact in self.current()]
            if retirement.fact_id not in held or retirement.fact_id in gone:
                raise ArigraphError("not current")
            if retirement.replacement not in change.learned:
                raise ArigraphError("no replacement")
            if self.triplets[retirement.fact_id - 1] == retirement.replacement:
                raise ArigraphError("own replacement")
            gone.append(retirement.fact_id)
        if not set(change.wordings) <= set(change.learned):
            raise ArigraphError("wording")
        for triplet in change.learned:
            if triplet not in self.triplets:
                self.triplets.append(triplet)
                self.intervals.append([])
        for retirement in change.retired:
            by = self.triplets.index(retirement.replacement) + 1
            start = self.intervals[retirement.fact_id - 1].pop().start
            self.intervals[retirement.fact_id - 1].append(
                Interval(start, change.step, by, retirement.reason)
            )
        added: set[int] = set()
        mentioned = {self.triplets.index(triplet) + 1 for triplet in change.learned}
        for fact_id in mentioned:
            if not any(interval.end is None for interval in self.intervals[fact_id - 1]):
                self.intervals[fact_id - 1].append(Interval(change.step))
                added.add(fact_id)
        self.log.append(Episode(change.step, change.text, frozenset(mentioned)))
        self.applied.append(
            StepChange(
                change.step,
                change.text,
                [self.triplets[fact_id - 1] for fact_id in sorted(mentioned)],
                sorted(change.retired, key=lambda retirement: retirement.fact_id),
                dict(change.wordings),
            )
        )
        return StepOutcome(
            tuple(self._fact(fact_id) for fact_id in sorted(added)),
            tuple(self._fact(fact_id) for fact_id in gone),
            self.log[-1],
        )

    def current(self) -> list[Fact]:
        return self._held(lambda interval: interval.end is None)

    def current_count(self) -> int:
        return len(self.current())

    def fact(self, fact_id: int) -> Fact:
        if not 1 <= fact_id <= len(self.triplets):
            raise ArigraphError("no fact")
        return self._fact(fact_id)

    def is_current(self, fact_id: int) -> bool:
        return fact_id in [fact.id for fact in self.current()]

    def knows(self, entity: str) -> bool:
        return bool(self.incident([entity]))

    def entities(self) -> list[str]:
        return list(dict.fromkeys(name for triplet in self.triplets for name in triplet.entities))

    def facts_of(self, entity: str) -> list[Fact]:
        return [
            self._fact(number + 1)
            for number, triplet in enumerate(self.triplets)
            if entity in triplet.entities
        ]

    def episode(self, step: int) -> Episode:
        for episode in self.log:
            if episode.step == step:
                return episode
        raise ArigraphError("no episode")

    def mentions(self, fact_id: int) -> Sequence[int]:
        return [episode.step for episode in self.log if fact_id in episode.fact_ids]

    def wordings(self, fact_id: int) -> dict[int, Triplet]:
        triplet = self.fact(fact_id).triplet
        return {
            change.step: change.wordings[triplet]
            for change in self.applied
            if triplet in change.wordings
        }

    def changes(self) -> Iterator[StepChange]:
        return iter(self.applied)

    def incident(self, entities: Iterable[str]) -> list[Fact]:
        wanted = set(entities)
        return [fact for fact in self.current() if wanted & set(fact.triplet.entities)]

    def find(self, triplet: Triplet) -> Fact | None:
        return self._fact(self.triplets.index(triplet) + 1) if triplet in self.triplets else None

    def episodes(self) -> list[Episode]:
        return list(self.log)

    def history(self, fact_id: int) -> tuple[Interval, ...]:
        self.fact(fact_id)
        return tuple(self.intervals[fact_id - 1])

    def as_of(self, step: int) -> list[Fact]:
        return self._held(lambda i: i.start <= step and (i.end is None or step < i.end))

    def close(self) -> None:
        pass

    def _fact(self, fact_id: int) -> Fact:
        return Fact(fact_id, self.triplets[fact_id - 1])

    def _held(self, holds: Callable[[Interval], bool]) -> list[Fact]:
        return [
            self._fact(number + 1)
            for number, intervals in enumerate(self.intervals)
            if any(holds(interval) for interval in intervals)
        ]
