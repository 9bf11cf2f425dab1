"""The ceiling: a player that knows the true state."""

from __future__ import annotations

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.episode import Player
from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.envs.environment import Environment, Observation
from arigraph_local.envs.family import Oracle
from arigraph_local.events import Event, Observed


class OraclePlayer(Player):
    """Asks a family's oracle, which sees all of `environment`."""

    def __init__(self, oracle: Oracle, environment: Environment) -> None:
        self._oracle = oracle
        self._environment = environment

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice | None:
        """What the oracle does; None when nothing is left to gain."""
        action = self._ask(observation)
        return None if action is None else Choice(action, "by the true state")

    def recall(self, event: Event, observation: Observation) -> None:
        """Ask again at every logged step: an oracle may remember what it did."""
        if isinstance(event, Observed):
            self._ask(observation)

    def _ask(self, observation: Observation) -> str | None:
        return self._oracle.next_action(self._environment.true_facts(), observation)
