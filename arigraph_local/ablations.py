"""Ablations by name: which settings leave a part of the system out (paper, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arigraph_local.errors import unknown_name


@dataclass(frozen=True)
class Ablation:
    """A setting, its value that leaves the part out, and the memories that have the part; None:
    it is a part of the agent, whatever its memory."""

    table: str
    setting: str
    value: Any
    memories: frozenset[str] | None = None


ABLATIONS: Mapping[str, Ablation] = {
    "episodic": Ablation("memory", "episodes", 0, frozenset({"arigraph", "hipporag"})),
    "semantic": Ablation("memory", "semantic", False, frozenset({"arigraph"})),
    "outdated": Ablation(
        "memory", "detect_outdated", False, frozenset({"arigraph", "temporal-kg"})
    ),
    "exploration": Ablation("agent", "exploration", False),
    "plan": Ablation("agent", "plan", False),
}


def ablation_values(names: Iterable[str]) -> dict[str, Any]:
    """The settings, by dotted key, that leave these parts out.

    Raises `UsageError` for a name that is none.
    """
    values: dict[str, Any] = {}
    for name in names:
        if name not in ABLATIONS:
            raise unknown_name("ablation", name, ABLATIONS)
        ablation = ABLATIONS[name]
        values[f"{ablation.table}.{ablation.setting}"] = ablation.value
    return values
