"""A graph written again from its steps, with merged entities kept or taken apart."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.store import Fact, Retirement, StepChange, Store
from arigraph_local.memory.triplet import Triplet


class _EveryName:
    def __contains__(self, name: object) -> bool:
        return True


EVERY_NAME: Container[str] = _EveryName()
"""For `rebuild(apart=EVERY_NAME)`: undoes every merge."""


def rebuild(
    changes: Iterable[StepChange],
    into: Store,
    *,
    fact: Callable[[int], Fact] | None = None,
    apart: Container[str] = (),
) -> None:
    """Write the steps of a graph (`Store.changes`) to an empty store.

    Without `apart` the stores become equal. Merges whose alias or name is in `apart` are undone:
    the facts of the alias stand under their own name again, and where a merged fact was retired,
    the facts it stood for are. What a step said in several wordings that were merged to the same
    fact comes back in one of them.

    `fact` gives the facts that the retirements name by id, as `source.fact` does; it can be left
    out if the ids are those of `into`: if all merges are kept. Raises `ArigraphError` if `into`
    is not empty, and what `Store.apply` raises.
    """
    if into.last_step is not None:
        raise ArigraphError(f"cannot rebuild into {into.path or 'a graph'}: it is not empty")
    rebuilding = _Rebuilding(into, fact or into.fact, apart)
    for change in changes:
        into.apply(rebuilding.restored(change))


class _Rebuilding:
    """The source's triplets and the triplets that they stand for in the new graph."""

    def __init__(self, into: Store, fact: Callable[[int], Fact], apart: Container[str]) -> None:
        self._into = into
        self._fact = fact
        self._apart = apart
        self._stands_for: dict[Triplet, dict[Triplet, None]] = {}

    def restored(self, change: StepChange) -> StepChange:
        """A step of the source as a step of the new graph."""
        restored = {
            triplet: self._restore(triplet, change.wordings.get(triplet, triplet))
            for triplet in change.learned
        }
        retired: dict[int, Retirement] = {}
        for retirement in change.retired:
            replacement = restored[retirement.replacement]
            for fact in self._standing(self._fact(retirement.fact_id).triplet):
                if fact.triplet != replacement:
                    reason = retirement.reason
                    retired.setdefault(fact.id, Retirement(fact.id, replacement, reason))
        for triplet, own in restored.items():
            self._stands_for.setdefault(triplet, {})[own] = None
        return StepChange(
            change.step,
            change.text,
            list(dict.fromkeys(restored.values())),
            list(retired.values()),
            {
                restored[triplet]: worded
                for triplet, worded in change.wordings.items()
                if restored[triplet] != worded
            },
        )

    def _restore(self, triplet: Triplet, worded: Triplet) -> Triplet:
        names = [
            alias if alias in self._apart or name in self._apart else name
            for name, alias in zip(triplet.entities, worded.entities, strict=True)
        ]
        return Triplet(names[0], triplet.relation, names[1])

    def _standing(self, triplet: Triplet) -> list[Fact]:
        """The current facts of the new graph that a fact of the source stands for."""
        found = map(self._into.find, self._stands_for.get(triplet, ()))
        return [fact for fact in found if fact is not None and self._into.is_current(fact.id)]
