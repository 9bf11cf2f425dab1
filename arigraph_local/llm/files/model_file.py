"""Whether a model's file is the one it should be, and stays so."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files.catalogue import LocatedModel
from arigraph_local.llm.files.transfer import file_sha256

_KEPT = 200


@dataclass(frozen=True)
class Fingerprint:
    """What tells at no cost that a file was replaced or written to: size, time, inode."""

    size: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Raises `ModelFileError` when the file is gone or cannot be read."""
        try:
            status = path.stat()
        except OSError as error:
            raise ModelFileError(f"cannot read the model {path}: {error.strerror}") from error
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)

    def check(self, path: Path) -> None:
        """Raise `ModelFileError` if the file at `path` is no longer the one seen before.

        Weights are mapped from the file, so a changed file means changed or broken weights.
        """
        if Fingerprint.of(path) != self:
            raise ModelFileError(
                f"{path} has changed since it was loaded: load it again, and replace model files "
                "only by moving a new one into place when nothing uses the old"
            )


def checked_sha256(model: LocatedModel) -> str:
    """The SHA-256 of a model's file, measured when the file is new or has changed.

    Raises `ModelFileError` if it differs from the catalogue's or the registered one.
    """
    measured = measured_sha256(model.path)
    if model.sha256 is None or measured == model.sha256:
        return measured
    remedy = (
        f"run `arigraph models fetch {model.name}` to fetch it again"
        if model.entry
        else f"run `arigraph models add {model.name} {model.path}` if that is meant"
    )
    raise ModelFileError(
        f"{model.path} is not the file known as '{model.name}' (SHA-256 {measured[:12]}… instead "
        f"of {model.sha256[:12]}…): {remedy}"
    )


def measured_sha256(path: Path) -> str:
    """The SHA-256 of a file, measured once while it stays as it is: gigabytes take seconds.

    Raises `ModelFileError` when the file cannot be read or changes meanwhile.
    """
    store = _store()
    known = _read(store)
    seen = Fingerprint.of(path)
    key = f"{path.absolute()}|{seen.size}|{seen.modified_ns}|{seen.inode}"
    if key not in known:
        try:
            known[key] = file_sha256(path)
        except OSError as error:
            raise ModelFileError(f"cannot read the model {path}: {error.strerror}") from error
        seen.check(path)
        _write(store, known)
    return known[key]


def _store() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("arigraph-local", appauthor=False) / "checksums.json"


def _read(store: Path) -> dict[str, str]:
    """Anything unreadable counts as nothing known."""
    try:
        known = json.loads(store.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {key: value for key, value in known.items() if isinstance(value, str)}


def _write(store: Path, known: dict[str, str]) -> None:
    """Best effort: where it cannot be written, checksums are measured again."""
    kept = dict(list(known.items())[-_KEPT:])
    temporary = store.with_name(f".{store.name}.{os.getpid()}")
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(kept), "utf-8")
        temporary.replace(store)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
