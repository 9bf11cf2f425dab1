"""The player of Cleaning that knows where everything is and belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arigraph_local.envs.cleaning_scoring import House
from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.envs.world_state import INVENTORY, WorldState


@dataclass(frozen=True)
class _Errand:
    """Something to be done in a room, and the commands that do it or open the way to it."""

    room: str
    commands: tuple[str, ...]


class CleaningOracle:
    """Walks to the nearest room where a misplaced thing can be taken or a carried one put away.

    `houses` are those it may find itself in. A thing that no valid action can take or put away,
    because the game's facts have gone wrong, is left where it is.
    """

    def __init__(self, houses: Sequence[House]) -> None:
        self._houses = houses

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        """One of the valid actions; None when all is tidy, or in a house it does not know."""
        state = WorldState(facts)
        house = next((house for house in self._houses if house.is_of(state)), None)
        if house is None or state.location is None:
            return None
        valid = {action.lower(): action for action in observation.valid_actions}
        errands = list(_errands(state, house.homes(state)))
        for errand in errands:
            if errand.room == state.location:
                for command in errand.commands:
                    if command in valid:
                        return valid[command]
        routes = state.routes(state.location)
        elsewhere = routes.keys() & {errand.room for errand in errands} - {state.location}
        nearest = min(elsewhere, key=lambda room: (routes[room].length, room), default=None)
        return valid.get(routes[nearest].first or "") if nearest else None


def _errands(state: WorldState, homes: dict[str, str]) -> Iterator[_Errand]:
    """One for each thing that is not in its place, things in the order of their names."""
    for thing, home in sorted(homes.items()):
        place = state.holders[thing]
        if place == home:
            continue
        target = home if place == INVENTORY else place
        room = target if target in state.rooms else state.room_of(target)
        if room is None:
            continue
        commands: tuple[str, ...]
        if place != INVENTORY:
            commands = (f"take {thing}", f"take {thing} from {place}", f"open {place}")
        elif home == room:
            commands = (f"drop {thing}",)
        else:
            commands = (f"put {thing} on {home}", f"insert {thing} into {home}", f"open {home}")
        yield _Errand(room, commands)
