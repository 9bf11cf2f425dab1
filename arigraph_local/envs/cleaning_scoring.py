"""The score of Cleaning, which the games themselves do not keep.

A thing that has a place is worth 2 points there, 1 point in the player's hands and none elsewhere;
the score is the sum of what all things are worth, less the sum at the start. So taking what is out
of place gives a point, putting it in its place another, and taking away what was in its place
costs one. That is the AriGraph paper's rule (+1 for taking a misplaced item, +1 for placing it,
-1 for any other change of an item), and as it depends on where things are alone, no sequence of
actions that restores them gives or costs anything.

In the houses made here the point for taking is given once and kept: a thing that has been taken is
worth 1 point wherever it is dropped. What a player has taken only grows, so that this, too, is
given once.

Whether a thing is carried is read from the inventory, and where it was put from the game's own
answer, never from the facts after the start: some containers of the published games can be opened
although no fact says that they are closed, and from then on their facts are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from arigraph_local.envs.environment import GAME_OVER, Environment, Observation, TrueFact
from arigraph_local.envs.world_state import INVENTORY, WorldState, names_in
from arigraph_local.errors import GameError

ALL_TIDY = "Everything is in its place."

_PUT = re.compile(r"^you put the (?P<thing>.+) (?:on|into) the (?P<place>.+?)\.$", re.MULTILINE)
_DROPPED = re.compile(r"^you drop the (?P<thing>.+) on the ground\.$", re.MULTILINE)


@dataclass(frozen=True)
class House:
    """Where the things of a house belong: `places[place]` are the things of a piece of furniture,
    or of the floor of a room. `taking_is_kept` tells the two rules apart."""

    places: Mapping[str, tuple[str, ...]]
    taking_is_kept: bool

    def is_of(self, state: WorldState) -> bool:
        """Whether a game is of this house: it holds nothing that the house does not know."""
        known = {*self.places, *(thing for things in self.places.values() for thing in things)}
        return known.issuperset(state.holders) and bool(self.homes(state))

    def homes(self, state: WorldState) -> dict[str, str]:
        """The proper place of each thing in the game that has one."""
        present = {*state.rooms, *state.holders}
        return {
            thing: place
            for place, things in self.places.items()
            if place in present
            for thing in things
            if thing in state.holders
        }


class CleaningEnvironment:
    """A game of Cleaning with its score; won, and over, when everything is in its place.

    `max_score` is two points for each thing out of place at the start. The score may be negative.
    A house with nothing out of place has no points to win and never ends.
    """

    def __init__(self, environment: Environment, house: House) -> None:
        self._environment = environment
        self._house = house
        self._homes: dict[str, str] = {}
        self._where: dict[str, str | None] = {}
        self._taken: set[str] = set()
        self._worth_at_start = 0
        self._last: Observation | None = None

    @property
    def goal(self) -> str:
        """What the player is asked to achieve."""
        return self._environment.goal

    def reset(self) -> Observation:
        """Start over: what is where is read from the facts, which are right at the start."""
        observation = self._environment.reset()
        state = WorldState(self._environment.true_facts())
        self._homes = self._house.homes(state)
        self._where = {thing: state.holders[thing] for thing in self._homes}
        self._taken = set()
        self._worth_at_start = self._worth()
        self._last = self._scored(observation)
        return self._last

    def step(self, command: str) -> Observation:
        """Send one command. Once everything is in its place the game is over."""
        if self._last is None:
            raise GameError("the game has not been reset")
        if self._last.done:
            return replace(self._last, text=GAME_OVER)
        observation = self._environment.step(command)
        self._follow(observation)
        self._last = self._scored(observation)
        return self._last

    def true_facts(self) -> frozenset[TrueFact]:
        """The facts as the game's own rules keep them."""
        return self._environment.true_facts()

    def close(self) -> None:
        """Free the game. Closing twice is harmless."""
        self._environment.close()

    def _follow(self, observation: Observation) -> None:
        held = set(names_in(observation.inventory.lower(), self._homes)[0])
        answer = observation.text.lower()
        for thing, place in self._where.items():
            if thing in held:
                self._where[thing] = INVENTORY
                self._taken.add(thing)
            elif place == INVENTORY:
                self._where[thing] = _put_down(thing, answer, observation.location)

    def _worth(self) -> int:
        return sum(self._worth_of(thing) for thing in self._homes)

    def _worth_of(self, thing: str) -> int:
        where = self._where[thing]
        if where == self._homes[thing]:
            return 2
        kept = self._house.taking_is_kept and thing in self._taken
        return 1 if where == INVENTORY or kept else 0

    def _scored(self, observation: Observation) -> Observation:
        max_score = 2 * len(self._homes) - self._worth_at_start
        score = self._worth() - self._worth_at_start
        won = max_score > 0 and score == max_score
        return replace(
            observation,
            text=f"{observation.text}\n\n{ALL_TIDY}" if won else observation.text,
            score=score,
            max_score=max_score,
            won=won,
            done=observation.done or won,
            valid_actions=() if won else observation.valid_actions,
        )


def _put_down(thing: str, answer: str, room: str | None) -> str | None:
    """Where a thing is that was carried until now; None if it is gone, as when it was eaten."""
    for match in _PUT.finditer(answer):
        if match["thing"] == thing:
            return match["place"]
    dropped = any(match["thing"] == thing for match in _DROPPED.finditer(answer))
    return room if dropped else None
