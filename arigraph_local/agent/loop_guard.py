"""The loop guard: actions done over and over in the same situation, without anything new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from arigraph_local.agent.progress import holdings
from arigraph_local.envs.environment import Observation

State = tuple[str | None, tuple[str, ...], int]
Situation = tuple[State, int]


class LoopGuard:
    """Counts how often each action was done in each situation, and how often it changed nothing.

    A situation is the room, the inventory, the score, and how many different texts were seen so
    far: what gives something new to read is no loop.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[tuple[str | None, str]] = set()
        self._done: Counter[tuple[Situation, str]] = Counter()
        self._fruitless: Counter[str] = Counter()

    def see(self, observation: Observation) -> None:
        """Take a text that was read into account."""
        self._seen.add((observation.location, observation.text))

    def note(self, before: Observation, action: str, after: Observation) -> None:
        """Take a finished action into account."""
        self.see(before)
        self._done[self._situation(before), action] += 1
        if _state(before) == _state(after):
            self._fruitless[action] += 1

    def loops(self, observation: Observation, actions: Sequence[str]) -> list[str]:
        """Those of the actions that were done `limit` times in this situation."""
        self.see(observation)
        now = self._situation(observation)
        return [action for action in actions if self._done[now, action] >= self._limit]

    def ordered(self, actions: Sequence[str]) -> list[str]:
        """The actions in their order, but those that changed nothing before last, by how often."""
        return sorted(actions, key=lambda action: self._fruitless[action])

    def _situation(self, observation: Observation) -> Situation:
        return (_state(observation), len(self._seen))


def _state(observation: Observation) -> State:
    """Room, inventory and score: what an action must change to have been of use."""
    return (observation.location, holdings(observation), observation.score)
