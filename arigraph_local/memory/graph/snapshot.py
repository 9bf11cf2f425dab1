"""The steps of a sealed graph in one file: read, they give its mirror without the database.

Opening a database replays its whole log, which takes about a third of a millisecond a step and a
tenth a fact; most graphs are opened only to be read.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.mirror import GraphMirror
from arigraph_local.memory.graph.step_record import from_record, to_record

SNAPSHOT_SUFFIX = ".steps"


def snapshot_file(path: Path) -> Path:
    """Where the snapshot of the graph `path` is."""
    return path.with_name(path.name + SNAPSHOT_SUFFIX)


def write_snapshot(path: Path, mirror: GraphMirror) -> None:
    """Write all steps, one JSON array a line. Without it the graph is merely slower to open."""
    with contextlib.suppress(OSError), snapshot_file(path).open("w", encoding="utf-8") as file:
        for change in mirror.changes():
            file.write(json.dumps(to_record(change)) + "\n")


def read_snapshot(path: Path, last_step: int | None, digest: str) -> GraphMirror | None:
    """The mirror of a graph whose last step has this digest; None if the snapshot gives another.

    The digest is chained over all steps, so that the snapshot needs no other check.
    """
    mirror = GraphMirror()
    try:
        with snapshot_file(path).open(encoding="utf-8") as file:
            for line in file:
                mirror.commit(mirror.plan(from_record(json.loads(line))))
    except (OSError, ValueError, TypeError, LookupError, ArigraphError):
        return None
    ends_alike = mirror.last_step == last_step and mirror.last_digest == digest
    return mirror if ends_alike else None
