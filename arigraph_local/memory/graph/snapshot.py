"""The steps of a sealed graph in one file: read, they give its mirror without the database.

Opening a database replays its whole log, which takes about a third of a millisecond a step and a
tenth a fact; most graphs are opened only to be read.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.mirror import GraphMirror
from arigraph_local.memory.graph.store import Retirement, StepChange
from arigraph_local.memory.triplet import Triplet


def snapshot_file(path: Path) -> Path:
    """Where the snapshot of the graph `path` is."""
    return path.with_name(f"{path.name}.steps")


def write_snapshot(path: Path, mirror: GraphMirror) -> None:
    """Write all steps, one JSON array a line. Without it the graph is merely slower to open."""
    with contextlib.suppress(OSError), snapshot_file(path).open("w", encoding="utf-8") as file:
        for change in mirror.changes():
            file.write(json.dumps(_record(change)) + "\n")


def read_snapshot(path: Path, last_step: int | None, digest: str) -> GraphMirror | None:
    """The mirror of a graph whose last step has this digest; None if the snapshot gives another.

    The digest is chained over all steps, so that the snapshot needs no other check.
    """
    mirror = GraphMirror()
    try:
        with snapshot_file(path).open(encoding="utf-8") as file:
            for line in file:
                mirror.commit(mirror.plan(_change(json.loads(line))))
    except (OSError, ValueError, TypeError, LookupError, ArigraphError):
        return None
    ends_alike = mirror.last_step == last_step and mirror.last_digest == digest
    return mirror if ends_alike else None


def _record(change: StepChange) -> tuple[Any, ...]:
    return (
        change.step,
        change.text,
        [_parts(triplet) for triplet in change.learned],
        [(gone.fact_id, _parts(gone.replacement), gone.reason) for gone in change.retired],
        [(_parts(fact), _parts(wording)) for fact, wording in change.wordings.items()],
    )


def _change(record: Any) -> StepChange:
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
