"""Navigation: where the agent can walk to, and walking there move by move (paper, appendix B).

`go to ROOM` and `explore DIRECTION from ROOM` are actions that the map adds to those of the game.
A passage that turned out otherwise is doubted: no route uses it until it is walked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arigraph_local.agent.exploring import Frontier, destinations, frontiers
from arigraph_local.agent.long_term_memory import LongTermMemory
from arigraph_local.agent.settings import NavigationKind
from arigraph_local.agent.walked_map import WalkedMap
from arigraph_local.envs.environment import Observation
from arigraph_local.memory.spatial.directions import direction_of
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialMap
from arigraph_local.memory.triplet import normalise

MAX_FRONTIERS = 12
_GO_TO = re.compile(r"go to (.+)")
_EXPLORE = re.compile(r"explore (\S+) from (.+)")


@dataclass(frozen=True)
class Ways:
    """`go to ROOM` for each room more than one move away, and the exits known but not walked
    (Algorithm 3); both nearest first."""

    goals: tuple[str, ...] = ()
    frontiers: tuple[Frontier, ...] = ()


@dataclass(frozen=True)
class Walk:
    """What a walk came to: the moves, the observation and passage of the last, and the passage
    that was not there."""

    commands: tuple[str, ...]
    end: Observation
    passage: Passage | None
    doubted: Passage | None
    arrived: bool


class Navigator:
    """The map of one episode: drawn by the memory, or from the moves that were walked."""

    def __init__(self, memory: LongTermMemory | None, kind: NavigationKind = "memory") -> None:
        self._memory = memory
        self._kind = kind
        self._walked = WalkedMap()
        self._doubted: dict[tuple[str, str], str] = {}

    def visited(self, observation: Observation, passage: Passage | None) -> None:
        """Note where the player stands and the move that led there."""
        self._walked.visited(observation, passage)
        if passage is not None and self._doubted.get(_way(passage)) == passage.destination:
            del self._doubted[_way(passage)]
        if self._memory is not None:
            self._memory.visited(observation.location, passage)

    def doubt(self, passage: Passage) -> None:
        """Use a passage in no route any more."""
        self._doubted[_way(passage)] = passage.destination

    def map(self) -> SpatialMap | None:
        """The map as it is trusted; None where there is none."""
        if self._kind == "off":
            return None
        if self._kind == "walked":
            return self._walked.map().without(self._doubted)
        drawn = self._memory.map() if self._memory is not None else None
        return None if drawn is None else drawn.without(self._doubted)

    def ways(self, observation: Observation) -> Ways:
        """Where the map leads from here."""
        graph = self.map()
        if graph is None or observation.location is None:
            return Ways()
        here = normalise(observation.location)
        return Ways(
            tuple(f"go to {room}" for room in destinations(graph, here)),
            tuple(frontiers(graph, here, observation.valid_actions)[:MAX_FRONTIERS]),
        )

    def route(self, action: str, before: Observation) -> list[str] | None:
        """The directions that an action of the map walks; None for a command of the game."""
        graph = self.map()
        if graph is None or before.location is None or action in before.valid_actions:
            return None
        here = normalise(before.location)
        if found := _GO_TO.fullmatch(action):
            return graph.route(here, normalise(found[1])) or None
        if found := _EXPLORE.fullmatch(action):
            route = graph.route(here, normalise(found[2]))
            return None if route is None else [*route, found[1]]
        return None

    def walk(
        self,
        route: Sequence[str],
        before: Observation,
        step: Callable[[str], Observation],
    ) -> Walk:
        """Walk a route, move by move, until the world disagrees with the map; that passage is
        doubted. `step` sends one command to the game."""
        graph = self.map()
        now, passage, doubted, commands = before, None, None, []
        for direction in route:
            here = normalise(now.location or "")
            expected = graph.passage(here, direction) if graph else None
            commands.append(f"go {direction}")
            before, now = now, step(commands[-1])
            passage = passage_between(before, commands[-1], now)
            self.visited(now, passage)
            there = normalise(now.location or "")
            if expected is not None and expected != there:
                doubted = Passage(here, direction, expected)
                self.doubt(doubted)
                break
            if now.done:
                break
        arrived = doubted is None and len(commands) == len(route) and passage is not None
        return Walk(tuple(commands), now, passage, doubted, arrived)


def passage_between(before: Observation, command: str, after: Observation) -> Passage | None:
    """The passage that a `go DIRECTION` went through, if the room changed."""
    verb, _, direction = command.partition(" ")
    if verb != "go" or before.location is None or after.location is None:
        return None
    if before.location == after.location or direction_of(direction) is None:
        return None
    return Passage(normalise(before.location), direction, normalise(after.location))


def _way(passage: Passage) -> tuple[str, str]:
    return (passage.origin, passage.direction)
