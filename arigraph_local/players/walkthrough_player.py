"""The commands that are known to win a game, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.episode import Player
from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.envs.environment import Observation


class WalkthroughPlayer(Player):
    """Does what the walkthrough says at this step, whatever the game answers."""

    def __init__(self, walkthrough: Sequence[str]) -> None:
        self._walkthrough = walkthrough

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice | None:
        """The command of this step (from 1); None once all are done."""
        if step > len(self._walkthrough):
            return None
        return Choice(self._walkthrough[step - 1], "as the walkthrough says")
