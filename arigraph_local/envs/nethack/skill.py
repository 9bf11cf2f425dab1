"""A skill: a text that the player can choose, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arigraph_local.envs.nethack.play import Play


@dataclass(frozen=True)
class Skill:
    """`run` does it and returns what came of it as a clause such as `you walk 3 squares`."""

    text: str
    run: Callable[[Play], str]
