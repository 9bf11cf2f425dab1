"""The seal of a graph: what its files were when it was last closed in good order.

A damaged database can crash or hang the process that opens it. One whose files are those of its
seal is opened straight away; any other is doubtful, and is examined first.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.errors import RunError
from arigraph_local.memory.graph.graph_database import DatabaseKind, database_files
from arigraph_local.memory.graph.mirror import GraphMirror

SEAL_SUFFIX = ".seal"
_VERSION = 1
_DIGEST_BYTES = 32


class FileSeal(BaseModel):
    """Size in bytes and BLAKE2b digest of a file."""

    model_config = ConfigDict(extra="forbid")

    bytes: int
    blake2b: str


class Seal(BaseModel):
    """The content of a seal file.

    `digest` is that of the step `last_step`, and so of all steps up to it: it holds for the graph
    however its files were rewritten, and for every graph that grew from it. `files` is by name.
    """

    model_config = ConfigDict(extra="forbid")

    version: int
    kind: str
    last_step: int | None
    digest: str
    files: dict[str, FileSeal]


def seal_file(path: Path) -> Path:
    """Where the seal of the graph `path` is."""
    return path.with_name(path.name + SEAL_SUFFIX)


def write_seal(path: Path, kind: DatabaseKind, mirror: GraphMirror) -> None:
    """Seal a closed graph. One that cannot be sealed is merely doubtful when it is next opened."""
    with contextlib.suppress(OSError):
        seal = Seal(
            version=_VERSION,
            kind=kind.name,
            last_step=mirror.last_step,
            digest=mirror.last_digest,
            files=_seals_of_files(path),
        )
        seal_file(path).write_text(seal.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_seal(path: Path) -> Seal | None:
    """The seal of a graph; None if it has none that can be read."""
    try:
        seal = Seal.model_validate_json(seal_file(path).read_bytes())
    except (OSError, ValidationError):
        return None
    return seal if seal.version == _VERSION else None


def remove_seal(path: Path) -> None:
    """Make a graph doubtful before it is written. Raises `RunError` if the seal stays."""
    try:
        seal_file(path).unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"{seal_file(path)}: cannot be removed: {error.strerror}") from error


def matches_files(seal: Seal, path: Path, kind: DatabaseKind) -> bool:
    """Whether the graph's files are, byte for byte, those that were sealed."""
    try:
        present = {file.name: file.stat().st_size for file in database_files(path)}
        sealed = {name: file.bytes for name, file in seal.files.items()}
        return seal.kind == kind.name and present == sealed and _seals_of_files(path) == seal.files
    except OSError:
        return False


def matches_contents(seal: Seal, mirror: GraphMirror) -> bool:
    """Whether a graph holds all that was sealed, and perhaps more steps after it."""
    return seal.last_step is None or mirror.digests.get(seal.last_step) == seal.digest


def _seals_of_files(path: Path) -> dict[str, FileSeal]:
    seals = {}
    for file in database_files(path):
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES))
            seals[file.name] = FileSeal(bytes=opened.tell(), blake2b=digest.hexdigest())
    return seals
