"""The result of a run, computed from its events alone."""

from __future__ import annotations

from collections.abc import Iterable

from arigraph_local.events import (
    Acted,
    Event,
    Finished,
    MemoryUpdated,
    ModelCalled,
    Observed,
    RunStarted,
)
from arigraph_local.llm.engine import TokenCounts
from arigraph_local.llm.ledger import Cost, Ledger
from arigraph_local.runs.run_folder import RunResult, TaskCost
from arigraph_local.runs.scoring import normalised


class Summary:
    """Adds up events as they come; `result` once the run is finished.

    `step` is that of the last event, `ledger` what its model calls cost.
    """

    def __init__(self) -> None:
        self._started: RunStarted | None = None
        self._finished: Finished | None = None
        self.ledger = Ledger()
        self._facts = self._retired = self._fallbacks = 0
        self._seconds = self._step_began = 0.0
        self.step = 0

    def add(self, event: Event) -> None:
        """Take one event into account."""
        at = event.time.at if event.time else 0.0
        self.step = event.step
        if isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, Observed):
            self._step_began = at
        elif isinstance(event, ModelCalled):
            tokens = TokenCounts(event.computed, event.reused, event.generated)
            seconds = event.time.seconds if event.time else None
            self.ledger.add(event.task, tokens, seconds or 0.0, cached=event.cached)
        elif isinstance(event, MemoryUpdated):
            self._facts = event.facts
            self._retired += len(event.retired)
        elif isinstance(event, Acted):
            self._fallbacks += event.fallback
            self._seconds += max(0.0, at - self._step_began)
        elif isinstance(event, Finished):
            self._finished = event

    def add_all(self, events: Iterable[Event]) -> Summary:
        """Take several events into account, in order; returns itself."""
        for event in events:
            self.add(event)
        return self

    def result(self) -> RunResult | None:
        """The result, or None while the run is not finished."""
        if self._started is None or self._finished is None:
            return None
        maximum = self._started.max_score
        return RunResult(
            game=self._started.game,
            player=self._started.player,
            memory=self._started.memory,
            ablations=self._started.ablations,
            model=self._started.model,
            reason=self._finished.reason,
            score=self._finished.score,
            max_score=maximum,
            normalised_score=normalised(self._finished.score, maximum),
            steps=self._finished.steps,
            facts=self._facts,
            retired=self._retired,
            fallbacks=self._fallbacks,
            tokens=_record(self.ledger.total),
            tasks={task: _record(cost) for task, cost in sorted(self.ledger.tasks.items())},
            seconds=round(self._seconds, 3),
        )


def _record(cost: Cost) -> TaskCost:
    return TaskCost(
        calls=cost.calls,
        computed=cost.tokens.computed,
        reused=cost.tokens.reused,
        generated=cost.tokens.generated,
        seconds=round(cost.seconds, 3),
        cached=cost.cached,
    )
