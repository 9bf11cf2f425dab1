"""A person who plays, told what an agent is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.episode import Player
from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.envs.environment import Observation

HELP = (
    "Type what you do. /actions shows the valid actions, /inventory what you carry, "
    "/goal what is asked of you; /quit (or the end of input) leaves, and the run can be resumed."
)
LONGEST_LINE = 500


class Terminal(Protocol):
    """Where a person reads and types. What the game says is shown there from the run's events."""

    def read(self) -> str:
        """One line, as typed. Raises `EOFError` at the end of input."""
        ...

    def write(self, text: str) -> None:
        """Show an answer to the person."""
        ...


class HumanPlayer(Player):
    """Sends a person's lines to the game; lines with a slash are answered here and cost no step.

    A line need not be a valid action: the game answers it as it does.
    """

    def __init__(self, terminal: Terminal, goal: str) -> None:
        self._terminal = terminal
        self._goal = goal

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice:
        """The next line that is for the game. Raises `KeyboardInterrupt` when the person leaves."""
        if note:
            self._terminal.write(note)
        while True:
            line = self._line()
            if line.startswith("/"):
                self._terminal.write(self._answer(line, observation))
            elif len(line) > LONGEST_LINE:
                self._terminal.write(f"A line has at most {LONGEST_LINE} characters.")
            elif line:
                return Choice(line, "")

    def _line(self) -> str:
        try:
            # Lone surrogates stand for bytes that are no text; a log cannot hold them.
            line = self._terminal.read().encode("utf-8", "replace").decode()
        except EOFError:
            raise KeyboardInterrupt from None
        line = " ".join(line.split())
        if line.lower() in ("/quit", "quit"):
            raise KeyboardInterrupt
        return line

    def _answer(self, line: str, observation: Observation) -> str:
        wanted = line[1:].lower()
        if wanted == "actions":
            return _listed(observation.valid_actions)
        if wanted == "inventory":
            return observation.inventory or "The game does not tell what you carry."
        if wanted == "goal":
            return self._goal
        return HELP if wanted == "help" else f"There is no '{line}'. {HELP}"


def _listed(actions: Sequence[str]) -> str:
    return "\n".join(f"  {action}" for action in actions) or "The game names no valid actions."
