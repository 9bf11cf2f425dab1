"""Ablations by name: which settings leave a part of the system out (paper, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from arigraph_local.errors import unknown_name

ABLATIONS: Mapping[str, tuple[str, Any]] = {
    "episodic": ("memory.episodes", 0),
    "semantic": ("memory.semantic", False),
    "outdated": ("memory.detect_outdated", False),
    "exploration": ("agent.exploration", False),
    "plan": ("agent.plan", False),
}
"""What is left out, the dotted key of its setting, and the value that leaves it out."""


def ablation_values(names: Iterable[str]) -> dict[str, Any]:
    """The settings, by dotted key, that leave these parts out.

    Raises `UsageError` for a name that is none.
    """
    values: dict[str, Any] = {}
    for name in names:
        if name not in ABLATIONS:
            raise unknown_name("ablation", name, ABLATIONS)
        key, value = ABLATIONS[name]
        values[key] = value
    return values
