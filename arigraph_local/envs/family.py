"""What a family of generated games offers the catalogue of games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class LevelSummary:
    """The size of one level: rooms, highest score in points, steps an agent may take."""

    rooms: int
    max_score: int
    step_limit: int
    description: str


@dataclass(frozen=True)
class BuiltGame:
    """What is known of a game once its files are written."""

    walkthrough: tuple[str, ...]
    max_score: int
    goal: str
    step_limit: int


class GameFamily(Protocol):
    """Games of one kind, at several levels, each reproducible from a seed."""

    @property
    def name(self) -> str:
        """The first part of `family:level@seed`."""
        ...

    @property
    def description(self) -> str:
        """What the player has to do, in one line."""
        ...

    def levels(self) -> Mapping[str, LevelSummary]:
        """The levels by name, from the easiest to the hardest."""
        ...

    def definition(self, level: str) -> str:
        """All that a game of this level depends on besides its seed and the version of the
        builder, as text: equal definitions make equal games."""
        ...

    def build(self, level: str, seed: int, story: Path) -> BuiltGame:
        """Write `story` (a `.z8`) and the `.json` beside it; nothing else stays in the folder.

        Raises `GameError` if the game cannot be made or its walkthrough does not work.
        """
        ...
