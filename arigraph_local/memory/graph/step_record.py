"""A step as plain lists: what snapshots hold and digests are made of."""

from __future__ import annotations

from typing import Any

from arigraph_local.memory.graph.store import Retirement, StepChange
from arigraph_local.memory.triplet import Triplet


def to_record(change: StepChange) -> tuple[Any, ...]:
    """Step, text, learned triplets, retirements, wordings, in the order of the change."""
    return (
        change.step,
        change.text,
        [_parts(triplet) for triplet in change.learned],
        [(gone.fact_id, _parts(gone.replacement), gone.reason) for gone in change.retired],
        [(_parts(fact), _parts(wording)) for fact, wording in change.wordings.items()],
    )


def from_record(record: Any) -> StepChange:
    """The step of `to_record`. Raises `ValueError` or `TypeError` on anything else."""
    step, text, learned, retired, wordings = record
    return StepChange(
        step,
        text,
        [Triplet(*parts) for parts in learned],
        [Retirement(fact_id, Triplet(*by), reason) for fact_id, by, reason in retired],
        {Triplet(*fact): Triplet(*wording) for fact, wording in wordings},
    )


def _parts(triplet: Triplet) -> tuple[str, str, str]:
    return (triplet.subject, triplet.relation, triplet.object)
