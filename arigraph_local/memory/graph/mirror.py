"""The graph as Python dictionaries: what every read answers from, and what a step would write.

A read here takes microseconds where the database takes milliseconds. `GraphMirror.plan` resolves
a step against it without changing it, so that the database can be written first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.step_digest import step_digest
from arigraph_local.memory.graph.store import (
    Episode,
    Fact,
    Interval,
    Retirement,
    StepChange,
    StepOutcome,
)
from arigraph_local.memory.triplet import Triplet


@dataclass(frozen=True)
class PlannedRetirement:
    """A fact to retire, with the id of its replacement."""

    fact_id: int
    replacement_id: int
    reason: str


@dataclass(frozen=True)
class StepPlan:
    """One step, resolved to ids. Retirements come before learning, as in the paper."""

    step: int
    text: str
    entities: tuple[tuple[int, str], ...]
    new_facts: tuple[Fact, ...]
    relearned: tuple[Fact, ...]
    retired: tuple[PlannedRetirement, ...]
    mentions: tuple[int, ...]
    wordings: dict[int, Triplet]
    digest: str


@dataclass
class GraphMirror:
    """Entities, facts with their intervals, and episodes, indexed for reading.

    Ids are dense and start at 1. `current_ids` and `incident_ids` hold current facts only;
    `entity_facts` all facts of an entity; `mention_steps` the steps that mention a fact;
    `wordings` by step and fact id what was extracted where it differs from the fact; `digests`
    the chained digest of each step.
    """

    entity_ids: dict[str, int] = field(default_factory=dict)
    facts: dict[int, Fact] = field(default_factory=dict)
    fact_ids: dict[Triplet, int] = field(default_factory=dict)
    intervals: dict[int, list[Interval]] = field(default_factory=dict)
    episodes: dict[int, Episode] = field(default_factory=dict)
    current_ids: set[int] = field(default_factory=set)
    incident_ids: dict[str, set[int]] = field(default_factory=dict)
    entity_facts: dict[str, list[int]] = field(default_factory=dict)
    mention_steps: dict[int, list[int]] = field(default_factory=dict)
    wordings: dict[int, dict[int, Triplet]] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    last_step: int | None = None

    @property
    def last_digest(self) -> str:
        """The digest of the last step, and so of the whole graph; "" if there is none."""
        return "" if self.last_step is None else self.digests[self.last_step]

    def plan(self, change: StepChange) -> StepPlan:
        """What `change` writes. Raises `ArigraphError` as `Store.apply` says; changes nothing."""
        if self.last_step is not None and change.step <= self.last_step:
            raise ArigraphError(
                f"step {change.step} does not follow step {self.last_step}: steps must increase"
            )
        learned = list(dict.fromkeys(change.learned))
        ids = self._ids_of(learned)
        for triplet in change.wordings:
            if triplet not in ids:
                raise ArigraphError(
                    f"step {change.step} words ({triplet}) otherwise, but does not learn it"
                )
        retired = self._plan_retirements(change, ids)
        gone = {retirement.fact_id for retirement in retired}
        known = [self.facts[ids[triplet]] for triplet in learned if triplet in self.fact_ids]
        return StepPlan(
            step=change.step,
            text=change.text,
            entities=self._new_entities(learned),
            new_facts=tuple(Fact(ids[t], t) for t in learned if t not in self.fact_ids),
            relearned=tuple(f for f in known if f.id not in self.current_ids or f.id in gone),
            retired=retired,
            mentions=tuple(ids[triplet] for triplet in learned),
            wordings={ids[triplet]: wording for triplet, wording in change.wordings.items()},
            digest=self._digest(change, ids),
        )

    def commit(self, plan: StepPlan) -> StepOutcome:
        """Take in a plan that has been written."""
        for retirement in plan.retired:
            self._close_interval(retirement, plan.step)
        for name_id, name in plan.entities:
            self.entity_ids[name] = name_id
        for fact in plan.new_facts:
            self.add_fact(fact)
        added = sorted((*plan.new_facts, *plan.relearned), key=lambda fact: fact.id)
        for fact in added:
            self.add_interval(fact.id, Interval(plan.step))
        episode = Episode(plan.step, plan.text, frozenset(plan.mentions))
        self.add_episode(episode, plan.digest, plan.wordings)
        retired = tuple(self.facts[retirement.fact_id] for retirement in plan.retired)
        return StepOutcome(added=tuple(added), retired=retired, episode=episode)

    def add_fact(self, fact: Fact) -> None:
        """Register a fact, not yet current."""
        self.facts[fact.id] = fact
        self.fact_ids[fact.triplet] = fact.id
        self.intervals[fact.id] = []
        self.mention_steps[fact.id] = []
        for name in dict.fromkeys(fact.triplet.entities):
            self.entity_facts.setdefault(name, []).append(fact.id)

    def add_interval(self, fact_id: int, interval: Interval) -> None:
        """Append an interval to a registered fact; an open one makes it current."""
        self.intervals[fact_id].append(interval)
        if interval.end is None:
            self.current_ids.add(fact_id)
            for name in self.facts[fact_id].triplet.entities:
                self.incident_ids.setdefault(name, set()).add(fact_id)

    def add_episode(
        self, episode: Episode, digest: str, wordings: dict[int, Triplet] | None = None
    ) -> None:
        """Append an episode."""
        self.episodes[episode.step] = episode
        self.digests[episode.step] = digest
        self.last_step = episode.step
        for fact_id in episode.fact_ids:
            self.mention_steps[fact_id].append(episode.step)
        if wordings:
            self.wordings[episode.step] = wordings

    def incident(self, entities: Iterable[str]) -> list[Fact]:
        """Current facts that touch one of `entities`, by id."""
        found: set[int] = set()
        for name in entities:
            found |= self.incident_ids.get(name, set())
        return [self.facts[fact_id] for fact_id in sorted(found)]

    def as_of(self, step: int) -> list[Fact]:
        """Facts that were current just after `step`, by id."""
        return [
            fact
            for fact_id, fact in sorted(self.facts.items())
            if any(
                interval.start <= step and (interval.end is None or interval.end > step)
                for interval in self.intervals[fact_id]
            )
        ]

    def changes(self) -> Iterator[StepChange]:
        """The steps as they were applied; see `Store.changes`."""
        retired: dict[int, list[Retirement]] = defaultdict(list)
        for fact_id, intervals in sorted(self.intervals.items()):
            for interval in intervals:
                if interval.end is not None and interval.replaced_by is not None:
                    replacement = self.facts[interval.replaced_by].triplet
                    retired[interval.end].append(
                        Retirement(fact_id, replacement, interval.reason or "")
                    )
        for step, episode in self.episodes.items():
            wordings = self.wordings.get(step, {})
            yield StepChange(
                step,
                episode.text,
                [self.facts[fact_id].triplet for fact_id in sorted(episode.fact_ids)],
                retired[step],
                {self.facts[fact_id].triplet: wordings[fact_id] for fact_id in sorted(wordings)},
            )

    def digests_hold(self) -> bool:
        """Whether every step is what it was when it was written."""
        digest = ""
        for change in self.changes():
            digest = step_digest(digest, change)
            if digest != self.digests[change.step]:
                return False
        return True

    def _digest(self, change: StepChange, ids: dict[Triplet, int]) -> str:
        previous = "" if self.last_step is None else self.digests[self.last_step]
        by_id = sorted(ids, key=lambda triplet: ids[triplet])
        retired = sorted(change.retired, key=lambda retirement: retirement.fact_id)
        wordings = {t: change.wordings[t] for t in by_id if t in change.wordings}
        return step_digest(previous, StepChange(change.step, change.text, by_id, retired, wordings))

    def _ids_of(self, learned: list[Triplet]) -> dict[Triplet, int]:
        ids: dict[Triplet, int] = {}
        next_id = len(self.facts) + 1
        for triplet in learned:
            known = self.fact_ids.get(triplet)
            ids[triplet] = next_id if known is None else known
            next_id += known is None
        return ids

    def _new_entities(self, learned: list[Triplet]) -> tuple[tuple[int, str], ...]:
        names = dict.fromkeys(name for triplet in learned for name in triplet.entities)
        new = [name for name in names if name not in self.entity_ids]
        return tuple(enumerate(new, start=len(self.entity_ids) + 1))

    def _plan_retirements(
        self, change: StepChange, ids: dict[Triplet, int]
    ) -> tuple[PlannedRetirement, ...]:
        planned: dict[int, PlannedRetirement] = {}
        for retirement in change.retired:
            self._check_retirement(retirement, change.step, ids)
            if retirement.fact_id in planned:
                raise ArigraphError(
                    f"step {change.step} retires fact {retirement.fact_id} more than once"
                )
            planned[retirement.fact_id] = PlannedRetirement(
                retirement.fact_id, ids[retirement.replacement], retirement.reason
            )
        return tuple(planned.values())

    def _check_retirement(self, retirement: Retirement, step: int, ids: dict[Triplet, int]) -> None:
        fact = self.facts.get(retirement.fact_id)
        where = f"step {step} retires fact {retirement.fact_id}"
        if fact is None:
            raise ArigraphError(f"{where}, which does not exist")
        if fact.id not in self.current_ids:
            raise ArigraphError(f"{where} ({fact.triplet}), which is already retired")
        if retirement.replacement not in ids:
            raise ArigraphError(
                f"{where} ({fact.triplet}) without learning its replacement "
                f"({retirement.replacement})"
            )
        if ids[retirement.replacement] == fact.id:
            raise ArigraphError(f"{where} ({fact.triplet}) and names it as its own replacement")

    def _close_interval(self, retirement: PlannedRetirement, step: int) -> None:
        intervals = self.intervals[retirement.fact_id]
        intervals[-1] = replace(
            intervals[-1],
            end=step,
            replaced_by=retirement.replacement_id,
            reason=retirement.reason,
        )
        self.current_ids.discard(retirement.fact_id)
        for name in self.facts[retirement.fact_id].triplet.entities:
            self.incident_ids[name].discard(retirement.fact_id)
