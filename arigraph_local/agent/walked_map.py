"""A map of what was walked and of the exits that the game offered, whatever the memory holds."""

from __future__ import annotations

from arigraph_local.agent.exploring import exits_offered
from arigraph_local.envs.environment import Observation
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialMap
from arigraph_local.memory.triplet import Triplet, normalise


class WalkedMap:
    """Gives every memory the same map, so that a comparison of memories is one of recall alone."""

    def __init__(self) -> None:
        self._rooms: set[str] = set()
        self._triplets: dict[Triplet, None] = {}

    def visited(self, observation: Observation, passage: Passage | None) -> None:
        """Note a room, the exits that its actions name, and the move that led there."""
        if observation.location is not None:
            room = normalise(observation.location)
            self._rooms.add(room)
            for direction in exits_offered(observation.valid_actions):
                self._learn(Triplet(room, "has exit", direction))
        if passage is not None:
            self._rooms |= {passage.origin, passage.destination}
            for triplet in passage.triplets():
                self._learn(triplet)

    def map(self) -> SpatialMap:
        """Passages, exits and routes; of contradicting moves the latest holds."""
        return SpatialMap(self._triplets, self._rooms)

    def _learn(self, triplet: Triplet) -> None:
        self._triplets.pop(triplet, None)
        self._triplets[triplet] = None
