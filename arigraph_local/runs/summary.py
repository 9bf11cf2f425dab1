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
from arigraph_local.runs.run_folder import RunResult, TaskCost


class Summary:
    """Adds up events as they come; `result` once the run is finished.

    `step` is that of the last event.
    """

    def __init__(self) -> None:
        self._started: RunStarted | None = None
        self._finished: Finished | None = None
        self._tasks: dict[str, TaskCost] = {}
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
            self._add_call(event)
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

    def total(self) -> TaskCost:
        """Calls, tokens and seconds of all tasks together."""
        total = TaskCost()
        for cost in self._tasks.values():
            for field in TaskCost.model_fields:
                setattr(total, field, getattr(total, field) + getattr(cost, field))
        return total

    def result(self) -> RunResult | None:
        """The result, or None while the run is not finished."""
        if self._started is None or self._finished is None:
            return None
        total, maximum = self.total(), self._started.max_score
        total.seconds = round(total.seconds, 3)
        return RunResult(
            game=self._started.game,
            model=self._started.model,
            reason=self._finished.reason,
            score=self._finished.score,
            max_score=maximum,
            normalised_score=round(self._finished.score / maximum, 4) if maximum else 0.0,
            steps=self._finished.steps,
            facts=self._facts,
            retired=self._retired,
            fallbacks=self._fallbacks,
            tokens=total,
            tasks={
                task: cost.model_copy(update={"seconds": round(cost.seconds, 3)})
                for task, cost in sorted(self._tasks.items())
            },
            seconds=round(self._seconds, 3),
        )

    def _add_call(self, event: ModelCalled) -> None:
        cost = self._tasks.setdefault(event.task, TaskCost())
        cost.calls += 1
        cost.computed += event.computed
        cost.reused += event.reused
        cost.generated += event.generated
        cost.seconds += (event.time.seconds or 0.0) if event.time else 0.0
