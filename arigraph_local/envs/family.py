"""What a family of generated games offers the catalogue of games."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arigraph_local.envs.environment import Environment, Observation, TrueFact


@dataclass(frozen=True)
class LevelSummary:
    """The size of one level: rooms, highest score in points, steps an agent may take.

    `rooms` and `max_score` are 0 where a world has no such number.
    """

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


class Oracle(Protocol):
    """Chooses actions by the true state: the ceiling of what an agent can score.

    One is made for each episode; it may remember what it did.
    """

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        """One of the valid actions, or None when nothing is left to gain."""
        ...


@dataclass(frozen=True)
class Adopted:
    """How a game from elsewhere is played as one of a family: its goal, and what scores it."""

    goal: str
    scored: Callable[[Environment], Environment] = lambda environment: environment


class Family(Protocol):
    """Worlds of one kind, at several levels, each reproducible from a seed."""

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


class GameFamily(Family, Protocol):
    """A family whose games are files, made once and kept."""

    def build(self, level: str, seed: int, story: Path) -> BuiltGame:
        """Write `story` (a `.z8`) and the `.json` beside it; nothing else stays in the folder.

        Raises `GameError` if the game cannot be made or its walkthrough does not work.
        """
        ...

    def scored(self, environment: Environment) -> Environment:
        """The environment of one of its games, with what the game itself does not score."""
        ...

    def adopt(self, facts: frozenset[TrueFact]) -> Adopted | None:
        """How to play a game made elsewhere, by its facts at the start; None if it is not of
        this kind."""
        ...

    def oracle(self) -> Oracle:
        """A player for one episode that knows the true state."""
        ...


class LiveFamily(Family, Protocol):
    """A family whose worlds are made as they are played."""

    def open(self, level: str, seed: int, say: Callable[[str], None]) -> Environment:
        """The world of this level and seed. `say` is told in one line when it had to be started
        again. Raises `GameError` if it cannot be made here.
        """
        ...
