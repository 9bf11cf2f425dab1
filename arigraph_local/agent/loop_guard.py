"""The loop guard: actions that keep changing nothing are not offered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from arigraph_local.envs.environment import Observation

Situation = tuple[str | None, str, int]


def situation(observation: Observation) -> Situation:
    """Room, inventory and score: what an action must change to have been of use."""
    return (observation.location, observation.inventory, observation.score)


class LoopGuard:
    """Counts, by situation, the actions that changed nothing. With limit 0 it lets all pass."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._fruitless: Counter[tuple[Situation, str]] = Counter()

    def note(self, before: Observation, action: str, after: Observation) -> None:
        """Take a finished action into account."""
        if situation(before) == situation(after):
            self._fruitless[situation(before), action] += 1

    def allowed(self, observation: Observation, actions: Sequence[str]) -> list[str]:
        """The actions still worth offering; all of them if none is."""
        if not self._limit:
            return list(actions)
        now = situation(observation)
        kept = [action for action in actions if self._fruitless[now, action] < self._limit]
        return kept or list(actions)
