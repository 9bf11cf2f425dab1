"""Plays a Treasure Hunt by its true state, from wherever an episode stands."""

from __future__ import annotations

from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.envs.world_state import INVENTORY, WorldState

TREASURE = "treasure"


class HuntOracle:
    """Takes the treasure by the shortest chain of keys that is still needed.

    That wins every point: no key can be reached but through the one before it, so that each has
    been in hand by the time the treasure is. Things that were dropped, put away or locked in
    again are fetched from where they are.
    """

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        """The next of the valid actions on the way to the treasure; None when it is taken."""
        if observation.done:
            return None
        wanted = _Hunt(facts).action_to_hold(TREASURE)
        offered = {action.lower(): action for action in observation.valid_actions}
        return None if wanted is None else offered.get(wanted)


class _Hunt:
    """The facts of one moment, by what is asked of them."""

    def __init__(self, facts: frozenset[TrueFact]) -> None:
        self._state = WorldState(facts)
        self._key_of = {
            fact.arguments[1]: fact.arguments[0] for fact in facts if fact.predicate == "match"
        }

    def action_to_hold(self, thing: str) -> str | None:
        """The next action until `thing` is carried; None if it is, or cannot be had."""
        holder = self._state.holders.get(thing, INVENTORY)
        if holder == INVENTORY:
            return None
        if holder in self._state.rooms:
            return self._action_in(holder, f"take {thing}")
        if self._state.is_closed(holder):
            return self._action_to_open(holder)
        return self._action_in(self._state.room_of(holder), f"take {thing} from {holder}")

    def _action_to_open(self, container: str) -> str | None:
        """The next action until a closed or locked container is open; None if no key opens it."""
        room = self._state.room_of(container)
        if "locked" not in self._state.conditions[container]:
            return self._action_in(room, f"open {container}")
        key = self._key_of.get(container)
        if key is None or self._state.holders.get(key) is None:
            return None
        unlock = f"unlock {container} with {key}"
        return self.action_to_hold(key) or self._action_in(room, unlock)

    def _action_in(self, room: str | None, action: str) -> str | None:
        """The first command of a shortest way to the room, or the action when there; None if no
        way leads there."""
        route = self._state.routes(self._state.location or "").get(room or "")
        return None if route is None else route.first or action
