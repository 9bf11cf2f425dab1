"""Whether the models on disk are what they should be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from arigraph_local.errors import ModelFileError, unknown_name
from arigraph_local.llm.files.catalogue import CatalogueEntry, load_catalogue
from arigraph_local.llm.files.registry import kind_of, load_registry
from arigraph_local.llm.files.transfer import (
    Report,
    digest_of,
    disk_error,
    disk_errors,
    ignore_progress,
    size_of,
)


class State(StrEnum):
    """What `verify` found."""

    INTACT = "intact"
    ABSENT = "absent"
    WRONG = "wrong"
    UNKNOWN = "no checksum known"


@dataclass(frozen=True)
class Verdict:
    """The state of one model on disk, with the reason when it is not intact."""

    name: str
    path: Path
    state: State
    detail: str = ""


@dataclass(frozen=True)
class Finding:
    """What `check` measured; `sha256` is empty when the size alone was wrong."""

    state: State
    sha256: str = ""
    why: str = ""


def check(path: Path, expected: int | None, sha256: str | None, report: Report) -> Finding:
    """Compare a file or folder with the size and SHA-256 it should have, as far as known."""
    if not path.exists():
        return Finding(State.ABSENT)
    size = size_of(path)
    if expected is not None and size != expected:
        return Finding(State.WRONG, why=f"{size} bytes instead of {expected}")
    measured = digest_of(path, report)
    if sha256 is None:
        return Finding(State.UNKNOWN, measured)
    if measured != sha256:
        return Finding(State.WRONG, measured, f"SHA-256 {measured} instead of {sha256}")
    return Finding(State.INTACT, measured)


def known_sha256(entry: CatalogueEntry, folder: Path) -> str | None:
    """The checksum of the catalogue, or the one recorded at the first fetch."""
    recorded = load_registry(folder).get(entry.name)
    return entry.sha256 or (recorded.sha256 if recorded else None)


def is_fetched(entry: CatalogueEntry, folder: Path) -> bool:
    """Whether the model is there in its full size; its checksum is not measured."""
    target = folder / entry.file
    with disk_errors(folder):
        return target.exists() and (entry.bytes is None or size_of(target) == entry.bytes)


def verify(name: str, folder: Path, report: Report = ignore_progress) -> Verdict:
    """Measure size and SHA-256 of a catalogue or registered model against what is known.

    Raises `UsageError` for an unknown name.
    """
    catalogue, registry = load_catalogue(), load_registry(folder)
    if name in catalogue:
        entry = catalogue[name]
        path, expected, sha256 = folder / entry.file, entry.bytes, known_sha256(entry, folder)
    elif name in registry:
        known = registry[name]
        path, expected, sha256 = folder / known.path, known.bytes, known.sha256
    else:
        raise unknown_name("model", name, [*catalogue, *registry])
    try:
        found = check(path, expected, sha256, report)
        if found.state is State.UNKNOWN:
            kind_of(path)
    except OSError as error:
        return Verdict(name, path, State.WRONG, str(disk_error(path, error)))
    except ModelFileError as error:
        return Verdict(name, path, State.WRONG, str(error).removeprefix(f"{path}: "))
    return Verdict(name, path, found.state, found.why)
