"""Files that are put aside because they are damaged or do not belong: never deleted, never over
another.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def free_name(path: Path, suffixes: Sequence[str] = ("",)) -> Path:
    """`NAME.set-aside-N` beside `path`, with the least N whose name is free.

    `suffixes` are what may be appended to it for the files that go together.
    """
    number = 1
    while True:
        target = path.with_name(f"{path.name}.set-aside-{number}")
        if not any(os.path.lexists(f"{target}{suffix}") for suffix in suffixes):
            return target
        number += 1
