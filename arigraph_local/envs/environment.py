"""What every text game offers an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

GAME_OVER = "The game is over."
"""The answer to any command after the end."""


@dataclass(frozen=True)
class Observation:
    """The game after a command, as the player sees it.

    `text` is the game's answer without banners and prompts; `location` is the name of the room
    the player stands in, lower-case, or None where the game does not tell. `score` and
    `max_score` are in the game's own points.
    """

    text: str
    inventory: str
    location: str | None
    valid_actions: tuple[str, ...]
    score: int
    max_score: int
    done: bool
    won: bool


@dataclass(frozen=True)
class TrueFact:
    """One proposition of the game's own state, such as `in(key 1, white locker)`."""

    predicate: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(self.arguments)})"


class Environment(Protocol):
    """A game in progress. `reset` before the first `step`."""

    @property
    def goal(self) -> str:
        """What the player is asked to achieve, in a sentence or two."""
        ...

    def reset(self) -> Observation:
        """Start over and return the first observation."""
        ...

    def step(self, command: str) -> Observation:
        """Send one command. A command the game does not know is answered as the game answers.

        Raises `GameError` if the game crashed or has not been reset.
        """
        ...

    def true_facts(self) -> frozenset[TrueFact]:
        """The whole true state, hidden parts included: for measuring, never for playing."""
        ...

    def close(self) -> None:
        """Free the game. Closing twice is harmless."""
        ...
