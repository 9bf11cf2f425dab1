"""Everything a store can be asked, to compare two of them; and the paper's example to fill one."""

from __future__ import annotations

from typing import Any

from arigraph_local.memory.graph.store import Retirement, StepChange, Store
from arigraph_local.memory.triplet import Triplet

IN_LOCKER = Triplet("key 1", "is in", "locker")
IN_INVENTORY = Triplet("key 1", "is in", "inventory")
ON_TABLE = Triplet("apple", "is on", "table")


def contents(store: Store) -> dict[str, Any]:
    """All that a store answers, in comparable form."""
    entities = store.entities()
    facts = {fact.id: fact for name in entities for fact in store.facts_of(name)}
    steps = [episode.step for episode in store.episodes()]
    return {
        "last_step": store.last_step,
        "current": store.current(),
        "count": store.current_count(),
        "as_of": {step: store.as_of(step) for step in (-1, *steps)},
        "episodes": store.episodes(),
        "by_step": [store.episode(step) for step in steps],
        "histories": {number: store.history(number) for number in sorted(facts)},
        "wordings": {number: store.wordings(number) for number in sorted(facts)},
        "found": {number: store.find(fact.triplet) for number, fact in sorted(facts.items())},
        "facts": [store.fact(number) for number in sorted(facts)],
        "is_current": [store.is_current(number) for number in sorted(facts)],
        "mentions": {number: list(store.mentions(number)) for number in sorted(facts)},
        "entities": entities,
        "facts_of": {name: store.facts_of(name) for name in entities},
        "incident": {name: store.incident([name]) for name in entities},
        "known": [store.knows(name) for name in entities],
        "changes": [
            (c.step, c.text, list(c.learned), list(c.retired), dict(c.wordings))
            for c in store.changes()
        ],
    }


def key_taken(store: Store) -> None:
    """The paper's example: the key leaves the locker for the inventory."""
    store.apply(
        StepChange(
            1,
            "A locker holds a key.",
            [IN_LOCKER, ON_TABLE],
            wordings={ON_TABLE: Triplet("the red apple", "lies on", "table")},
        )
    )
    store.apply(
        StepChange(2, "Taken.", [IN_INVENTORY], [Retirement(1, IN_INVENTORY, "key was taken")])
    )


def moving_things(steps: int, letters: int = 500) -> list[StepChange]:
    """Step n moves thing n - 1 from the floor to the bag and puts thing n on the floor."""
    changes = [StepChange(1, "t" * letters, [Triplet("thing 1", "is on", "floor")])]
    for step in range(2, steps + 1):
        bag = Triplet(f"thing {step - 1}", "is in", "bag")
        floor = Triplet(f"thing {step}", "is on", "floor")
        floor_id = 1 if step == 2 else 2 * step - 3
        retired = [Retirement(floor_id, bag, "taken")]
        wordings = {bag: Triplet(f"thing {step - 1}", "is inside", "the bag")} if step % 3 else {}
        changes.append(StepChange(step, "t" * letters, [bag, floor], retired, wordings))
    return changes
