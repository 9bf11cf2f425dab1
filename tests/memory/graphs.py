"""A small graph with everything in it: facts held, retired, learned again, and a merged name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_store import ReferenceStore

from arigraph_local.memory.graph.store import Interval, Retirement, StepChange, Store
from arigraph_local.memory.triplet import Triplet


def triplet(text: str) -> Triplet:
    return Triplet(*text.split(", "))


def write(
    store: Store,
    step: int,
    learned: Sequence[str],
    retired: Mapping[str, str] | None = None,
    wordings: Mapping[str, str] | None = None,
) -> None:
    """One step: triplets learned, facts retired by their replacement, wordings by triplet."""
    retirements = []
    for old, new in (retired or {}).items():
        fact = store.find(triplet(old))
        assert fact is not None
        retirements.append(Retirement(fact.id, triplet(new), "moved"))
    worded = {triplet(own): triplet(told) for own, told in (wordings or {}).items()}
    texts = list(map(triplet, learned))
    store.apply(StepChange(step, f"observation {step}", texts, retirements, worded))


IN_BOX, HELD = "key, is in, box", "key, is in, inventory"


def travelling_key(store: Store | None = None) -> Store:
    """The key lies in the box (step 1), is taken (2), put back (4) and taken again (7)."""
    store = store or ReferenceStore()
    write(store, 1, [IN_BOX, "lamp, is on, table"])
    write(store, 2, [HELD], {IN_BOX: HELD})
    write(store, 4, [IN_BOX], {HELD: IN_BOX}, {IN_BOX: "keys, is in, box"})
    write(store, 7, [HELD, "lamp, is on, table"], {IN_BOX: HELD})
    return store


Content = tuple[dict[str, list[tuple[int, int | None, str | None]]], dict[int, set[str]]]


def content(store: Store) -> Content:
    """A graph without its ids: intervals by triplet, with their replacement; triplets by step."""

    def interval(item: Interval) -> tuple[int, int | None, str | None]:
        by = item.replaced_by
        return (item.start, item.end, None if by is None else str(store.fact(by).triplet))

    mentioned = {e.step: {str(store.fact(i).triplet) for i in e.fact_ids} for e in store.episodes()}
    ids = {fact_id for episode in store.episodes() for fact_id in episode.fact_ids}
    held = {str(store.fact(i).triplet): list(map(interval, store.history(i))) for i in ids}
    return held, mentioned
