"""Digests of steps, each chained to the one before: what was written can be known again.

A database may read a damaged log without noticing. A graph in which every step has the digest it
was written with holds exactly what was written, up to some step.
"""

from __future__ import annotations

import hashlib
import json

from arigraph_local.memory.graph.store import StepChange
from arigraph_local.memory.triplet import Triplet

_BYTES = 12


def step_digest(previous: str, change: StepChange) -> str:
    """The digest of a step after a step with the digest `previous` ("" if it is the first).

    Lists must be ordered as by `Store.changes`.
    """
    parts = (
        previous,
        change.step,
        change.text,
        [_parts(triplet) for triplet in change.learned],
        [(gone.fact_id, _parts(gone.replacement), gone.reason) for gone in change.retired],
        [(_parts(fact), _parts(wording)) for fact, wording in change.wordings.items()],
    )
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=_BYTES).hexdigest()


def _parts(triplet: Triplet) -> tuple[str, str, str]:
    return (triplet.subject, triplet.relation, triplet.object)
