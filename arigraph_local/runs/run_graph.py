"""The graph of a run: opened where it is sound and belongs to the log, else rebuilt from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from arigraph_local.errors import GraphError
from arigraph_local.events import Event, MemoryUpdated
from arigraph_local.memory.graph.graph_files import remove_graph, set_aside
from arigraph_local.memory.graph.store import Retirement, StepChange, Store
from arigraph_local.memory.graph.stores import StoreKind, open_store
from arigraph_local.memory.triplet import Triplet

Say = Callable[[str], None]


def logged_changes(events: Iterable[Event]) -> Iterator[StepChange]:
    """What the logged steps wrote to the graph."""
    for event in events:
        if isinstance(event, MemoryUpdated):
            yield StepChange(
                event.step,
                event.text,
                [Triplet(*item) for item in event.learned],
                [Retirement(r.id, Triplet(*r.replacement), r.reason) for r in event.retired],
                {Triplet(*learned): Triplet(*worded) for learned, worded in event.wordings},
            )


def run_graph(path: Path, kind: StoreKind, events: Iterable[Event], say: Say) -> Store:
    """The graph at `path`, holding exactly the logged steps; those it lacks are written.

    A graph that will not open, or is not of this log, is set aside with one line to `say`, and
    another made in its place. One that is ahead of its log, as a kill leaves it, is replaced.
    Raises `RunError` if the graph is open elsewhere or cannot be written.
    """
    logged = list(logged_changes(events))
    store = _opened(path, kind, logged, say)
    try:
        for change in logged:
            if store.last_step is None or change.step > store.last_step:
                store.apply(change)
    except BaseException:
        store.close()
        raise
    return store


def _opened(path: Path, kind: StoreKind, logged: Sequence[StepChange], say: Say) -> Store:
    """A sound graph that holds the first logged steps, perhaps none."""
    try:
        store = open_store(kind, path)
    except GraphError as error:
        say(f"{error}: now {set_aside(path)}, and rebuilt from the log")
        return open_store(kind, path)
    held = list(store.changes())
    common = sum(1 for _ in takewhile(_same, zip(held, logged, strict=False)))
    if common == len(held):
        return store
    store.close()
    if common == len(logged):
        remove_graph(path)
    else:
        aside = set_aside(path)
        say(f"{path} is not the graph of this log: now {aside}, and rebuilt from the log")
    return open_store(kind, path)


def _same(steps: tuple[StepChange, StepChange]) -> bool:
    held, logged = map(_parts, steps)
    return held == logged


def _parts(change: StepChange) -> tuple[object, ...]:
    retired = {(gone.fact_id, gone.replacement, gone.reason) for gone in change.retired}
    return (change.step, change.text, set(change.learned), retired, dict(change.wordings))
