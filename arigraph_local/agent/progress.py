"""What counts as progress: a score, an inventory or a room that was never seen before."""

from __future__ import annotations

import re

from arigraph_local.envs.environment import Observation

_WORD = re.compile(r"\w+")


def holdings(observation: Observation) -> tuple[str, ...]:
    """The inventory by its words, in whatever order the game lists them."""
    return tuple(sorted(_WORD.findall(observation.inventory.lower())))


class Progress:
    """Follows an episode; `step` is that of the last progress, 0 before any."""

    def __init__(self) -> None:
        self.step = 0
        self._seen: set[object] = set()

    def note(self, step: int, before: Observation, after: Observation) -> None:
        """Take a finished step into account."""
        self._seen |= self._marks(before)
        if not self._marks(after) <= self._seen:
            self.step = step
        self._seen |= self._marks(after)

    def _marks(self, observation: Observation) -> set[object]:
        return {observation.location, (observation.score, holdings(observation))}
