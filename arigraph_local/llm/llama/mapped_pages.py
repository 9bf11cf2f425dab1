"""Pages of a mapped model file that this process need not hold."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_MADV_DONTNEED = 4


def release_pages(path: Path) -> int:
    """Give the pages of a file's mappings back to the system; how many bytes that were mapped.

    While it loads, llama.cpp touches the whole file, and copies many weights into the order its
    kernels like. The pages of what was copied are never read again, yet count as this process's
    memory: half the model's size. What is read comes back from the page cache. 0 where the system
    is not Linux or nothing is mapped.
    """
    mappings = list(_mappings(path))
    if not mappings:
        return 0
    released = 0
    libc = ctypes.CDLL(None)
    for start, end in mappings:
        size = end - start
        if libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_DONTNEED) == 0:
            released += size
    return released


def _mappings(path: Path) -> Iterator[tuple[int, int]]:
    """Address ranges at which this process maps the file, to be read and not to be written."""
    wanted = str(path.resolve())
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        addresses, permissions, *_ = line.split(maxsplit=2)
        # A line ends with the file's path, which may have blanks.
        if line.endswith(f" {wanted}") and "w" not in permissions:
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16)
