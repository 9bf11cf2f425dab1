"""What every way of moving model files shares: progress, digests, and errors of the disk."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.errors import ModelFileError

CHUNK = 1 << 20


@dataclass(frozen=True)
class Progress:
    """How far a transfer is: bytes done, bytes in all if known, and what is being done."""

    done_bytes: int
    total_bytes: int | None
    what: str


Report = Callable[[Progress], None]


def ignore_progress(_: Progress) -> None:
    """The report of a caller that does not watch."""


def file_sha256(path: Path, report: Report = ignore_progress) -> str:
    """Hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    total, done = path.stat().st_size, 0
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            report(Progress(done, total, "checking"))
    return digest.hexdigest()


def folder_sha256(folder: Path) -> str:
    """One SHA-256 for a folder: over `path, size, SHA-256` of its files, sorted by path.

    Paths are relative, with `/`, in UTF-8; the three fields end with a zero byte.
    """
    digest = hashlib.sha256()
    for relative, path in _sorted_files(folder):
        for field in (relative, str(path.stat().st_size), file_sha256(path)):
            digest.update(field.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for _, file in _sorted_files(path))
    return path.stat().st_size


def digest_of(path: Path, report: Report = ignore_progress) -> str:
    """SHA-256 of a file (`file_sha256`) or a folder (`folder_sha256`)."""
    return folder_sha256(path) if path.is_dir() else file_sha256(path, report)


def _sorted_files(folder: Path) -> list[tuple[str, Path]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted((path.relative_to(folder).as_posix(), path) for path in files)


def expand_user(path: Path) -> Path:
    """`path` with a leading `~` replaced where the home folder is known."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def sync(path: Path) -> None:
    """Force a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn an `OSError` of the disk into one `ModelFileError` line that names the folder."""
    try:
        yield
    except OSError as error:
        raise disk_error(folder, error) from error


def disk_error(folder: Path, error: OSError) -> ModelFileError:
    """The line for a user about a failed write in the models folder."""
    elsewhere = "choose another folder with --models-dir or ARIGRAPH_MODELS"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ModelFileError(f"disk full: {folder}: free some space or {elsewhere}")
    reason = error.strerror or str(error)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST):
        return ModelFileError(f"cannot write in {folder}: {reason}: {elsewhere}")
    return ModelFileError(f"{folder}: {reason}" + (f": {error.filename}" if error.filename else ""))
