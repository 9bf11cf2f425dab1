"""Prompts as sent, compared with files; `ARIGRAPH_GOLDEN=write` writes them."""

from __future__ import annotations

import os
from pathlib import Path


def assert_golden(path: Path, prompt: str) -> None:
    """The prompt is byte for byte what the file holds."""
    if os.environ.get("ARIGRAPH_GOLDEN") == "write":
        path.write_text(prompt, encoding="utf-8")
    assert prompt == path.read_text(encoding="utf-8")
