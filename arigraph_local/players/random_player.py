"""The floor: actions by chance."""

from __future__ import annotations

from random import Random

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.episode import Player
from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.envs.environment import Observation


class RandomPlayer(Player):
    """Chooses among the valid actions, each as likely as the others.

    A choice depends on the seed, the step and the actions alone, so that a run goes on in the
    same way after it was interrupted. Where a game offers nothing, it looks.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice:
        """One of the valid actions by chance."""
        chance = Random(f"random player {self._seed}, step {step}")
        return Choice(chance.choice(observation.valid_actions or ("look",)), "by chance")
