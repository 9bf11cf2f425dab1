"""The reads of a store that keeps a `GraphMirror` beside its database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.mirror import GraphMirror
from arigraph_local.memory.graph.store import Episode, Fact, Interval, StepChange
from arigraph_local.memory.triplet import Triplet


class MirroredStore:
    """Every read of `Store`, answered from `_mirror`; `_where` names the graph in errors."""

    _mirror: GraphMirror
    _where: str

    @property
    def last_step(self) -> int | None:
        """The step of the latest episode."""
        return self._mirror.last_step

    def current(self) -> list[Fact]:
        """The semantic layer: facts true now, by id."""
        return [self._mirror.facts[fact_id] for fact_id in sorted(self._mirror.current_ids)]

    def current_count(self) -> int:
        """How many facts are true now."""
        return len(self._mirror.current_ids)

    def incident(self, entities: Iterable[str]) -> list[Fact]:
        """Current facts whose subject or object is one of `entities`, by id."""
        return self._mirror.incident(entities)

    def find(self, triplet: Triplet) -> Fact | None:
        """The fact with this triplet, current or retired."""
        fact_id = self._mirror.fact_ids.get(triplet)
        return None if fact_id is None else self._mirror.facts[fact_id]

    def fact(self, fact_id: int) -> Fact:
        """The fact with this id, current or retired. Raises `ArigraphError` if there is none."""
        fact = self._mirror.facts.get(fact_id)
        if fact is None:
            raise ArigraphError(f"{self._where} has no fact {fact_id}")
        return fact

    def is_current(self, fact_id: int) -> bool:
        """Whether this fact is true now."""
        return fact_id in self._mirror.current_ids

    def knows(self, entity: str) -> bool:
        """Whether a current fact has this entity."""
        return bool(self._mirror.incident_ids.get(entity))

    def entities(self) -> list[str]:
        """All entities ever named, retired facts included, in order of first learning."""
        return list(self._mirror.entity_facts)

    def facts_of(self, entity: str) -> list[Fact]:
        """All facts of an entity, current and retired, by id."""
        return [self._mirror.facts[i] for i in self._mirror.entity_facts.get(entity, ())]

    def episodes(self) -> list[Episode]:
        """The episodic layer, by step."""
        return list(self._mirror.episodes.values())

    def episode(self, step: int) -> Episode:
        """The episode of a step. Raises `ArigraphError` if there is none."""
        episode = self._mirror.episodes.get(step)
        if episode is None:
            raise ArigraphError(f"{self._where} has no episode of step {step}")
        return episode

    def mentions(self, fact_id: int) -> Sequence[int]:
        """Steps of the episodes that mention a fact, in order."""
        return self._mirror.mention_steps.get(fact_id, ())

    def wordings(self, fact_id: int) -> dict[int, Triplet]:
        """By step, what was extracted where merging entities made this fact of it."""
        worded = self._mirror.wordings
        steps = (step for step in self.mentions(fact_id) if fact_id in worded.get(step, {}))
        return {step: worded[step][fact_id] for step in steps}

    def history(self, fact_id: int) -> tuple[Interval, ...]:
        """The intervals of a fact, oldest first. Raises `ArigraphError` for an unknown id."""
        self.fact(fact_id)
        return tuple(self._mirror.intervals[fact_id])

    def as_of(self, step: int) -> list[Fact]:
        """Facts that were current just after `step`, by id."""
        return self._mirror.as_of(step)

    def changes(self) -> Iterator[StepChange]:
        """The steps as they were applied; see `Store.changes`."""
        return self._mirror.changes()
