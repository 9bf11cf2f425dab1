"""The graph as a networkx graph."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from arigraph_local.memory.graph.store import Fact, Interval, Store

if TYPE_CHECKING:
    import networkx  # type: ignore[import-untyped, unused-ignore]


def network_of(store: Store, step: int | None = None) -> networkx.MultiDiGraph:
    """The facts true now, or just after `step`; see `GraphView.to_networkx`."""
    import networkx  # type: ignore[import-untyped, unused-ignore]

    graph = networkx.MultiDiGraph()
    for fact in store.current() if step is None else store.as_of(step):
        graph.add_edge(
            fact.triplet.subject,
            fact.triplet.object,
            key=fact.id,
            relation=fact.triplet.relation,
            since=intervals_by(store, fact, step)[-1].start,
            steps=mentions_by(store, fact, step),
        )
    return graph


def intervals_by(store: Store, fact: Fact, step: int | None) -> list[Interval]:
    """The intervals of a fact as they were just after `step`: what ended later was still open."""
    if step is None:
        return list(store.history(fact.id))
    return [
        interval if interval.end is not None and interval.end <= step else Interval(interval.start)
        for interval in store.history(fact.id)
        if interval.start <= step
    ]


def mentions_by(store: Store, fact: Fact, step: int | None) -> tuple[int, ...]:
    """The steps up to `step` whose episodes mention a fact."""
    steps = store.mentions(fact.id)
    return tuple(steps if step is None else steps[: bisect_right(steps, step)])
