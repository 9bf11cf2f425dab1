"""Digests of steps, each chained to the one before: what was written can be known again.

A database may read a damaged log without noticing. A graph in which every step has the digest it
was written with holds exactly what was written, up to some step.
"""

from __future__ import annotations

import hashlib
import json

from arigraph_local.memory.graph.step_record import to_record
from arigraph_local.memory.graph.store import StepChange

_BYTES = 12


def step_digest(previous: str, change: StepChange) -> str:
    """The digest of a step after a step with the digest `previous` ("" if it is the first).

    Lists must be ordered as by `Store.changes`.
    """
    parts = (previous, *to_record(change))
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=_BYTES).hexdigest()
