"""Giving back the pages of a mapped file."""

import mmap
import os
import sys
from pathlib import Path

import pytest

from arigraph_local.llm.llama.mapped_pages import release_pages

SIZE = 8 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")


def _resident(path: Path) -> int:
    """KiB of the file's mappings that this process holds."""
    held, inside = 0, False
    for line in Path("/proc/self/smaps").read_text(errors="surrogateescape").splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            inside = line.endswith(f" {path}")
        elif inside and first == "Rss:":
            held += int(line.split()[1])
    return held


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a model with blanks.gguf"
    path.write_bytes(os.urandom(SIZE))
    return path


def test_pages_go_and_come_back(file: Path) -> None:
    content = file.read_bytes()
    with file.open("rb") as handle, mmap.mmap(handle.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == content
        assert _resident(file) == SIZE // 1024
        assert release_pages(file) == SIZE
        assert _resident(file) == 0
        assert mapped[:] == content


def test_what_may_be_written_to_is_left_alone(file: Path) -> None:
    with (
        file.open("r+b") as handle,
        mmap.mmap(handle.fileno(), 0, flags=mmap.MAP_PRIVATE) as mapped,
    ):
        mapped[0] = mapped[0] ^ 1
        changed = mapped[:]
        assert release_pages(file) == 0
        assert mapped[:] == changed


def test_a_file_that_is_not_mapped(file: Path) -> None:
    assert release_pages(file) == 0
