"""The true facts of a TextWorld game that a player has seen, as triplets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from arigraph_local.agent.long_term_memory import Experience
from arigraph_local.envs.environment import TrueFact
from arigraph_local.envs.world_state import INVENTORY, WorldState, names_in
from arigraph_local.errors import UsageError
from arigraph_local.memory.triplet import Triplet, make_triplet

Learned = Literal["seen", "read", "recipe"]
"""How a fact is learned: by seeing its subject, from a text that names both its things, or from
a recipe."""

_PLACES = {"at": "is in", "in": "is in", "on": "is on"}
_OPENING = frozenset({"open", "closed", "locked"})
_COOKING = frozenset({"raw", "fried", "roasted", "grilled", "burned"})
_CUTTING = frozenset({"uncut", "chopped", "sliced", "diced"})
_STATES = _OPENING | _COOKING | _CUTTING
_RECIPE = "recipe"
_INGREDIENTS = "ingredients"
"""The word by which the text of a recipe is known."""
_DIRECTION = "_of"


@dataclass(frozen=True)
class Sight:
    """What an observation shows: triplets that it tells, and things that are gone for good.

    `values` are the objects that each relation has in the whole true state, sorted.
    """

    triplets: tuple[Triplet, ...]
    gone: tuple[str, ...]
    values: dict[str, tuple[str, ...]]


class SeenFacts:
    """Keeps what one player has seen. `look` is called once at each observation."""

    def __init__(self) -> None:
        self._known: set[Triplet] = set()
        self._placed: set[str] = set()

    def look(self, facts: frozenset[TrueFact], experience: Experience) -> Sight:
        """What can be learned from an observation, `facts` being the true state.

        Told is what is in sight or carried and named in the text, or not known yet; which key
        opens what, and what a recipe asks, when the text names all of it. Raises `UsageError` if
        these are not the facts of a TextWorld game.
        """
        state = WorldState(facts)
        if state.location is None:
            raise UsageError(
                "memory.name oracle-graph: this game does not tell where things are truly; "
                "play a game of TextWorld"
            )
        statements = list(_statements(facts, state))
        told = self._told(statements, state, experience.text.lower())
        if experience.passage is not None:
            told |= set(experience.passage.triplets())
        gone = self._placed - state.holders.keys()
        self._placed -= gone
        self._known |= told
        values = _values(triplet for triplet, _ in statements)
        return Sight(tuple(sorted(told)), tuple(sorted(gone)), values)

    def _told(
        self, statements: Sequence[tuple[Triplet, Learned]], state: WorldState, text: str
    ) -> set[Triplet]:
        """What the player sees or reads, as far as it is new or named; notes what has a place."""
        here = state.location or ""
        seen = state.in_sight(here) | state.held | {here}
        self._placed |= seen & state.holders.keys()
        names = {name for triplet, _ in statements for name in triplet.entities}
        named = set(names_in(text, names)[0])
        shown = {
            "seen": lambda triplet: triplet.subject in seen,
            "read": lambda triplet: set(triplet.entities) <= named,
            "recipe": lambda triplet: _INGREDIENTS in text and bool(named & {*triplet.entities}),
        }
        return {
            triplet
            for triplet, how in statements
            if shown[how](triplet) and (triplet not in self._known or triplet.subject in named)
        }


def _statements(facts: frozenset[TrueFact], state: WorldState) -> Iterator[tuple[Triplet, Learned]]:
    """The facts as triplets in the words of the extraction prompt, with how each is learned."""
    foods = {fact.arguments[1]: fact.arguments[0] for fact in facts if fact.predicate == "base"}
    for fact in facts:
        predicate, names = fact.predicate, fact.arguments
        if predicate == "match":
            yield from _made(names[0], "opens", names[1], "read")
        elif predicate == "base":
            yield from _made(_RECIPE, "needs", names[0], "recipe")
        elif predicate in _STATES and names[0] in foods:
            yield from _made(foods[names[0]], "must be", predicate, "recipe")
        elif predicate in _STATES:
            yield from _made(names[0], "is", predicate, "seen")
        elif predicate.endswith(_DIRECTION) and len(names) == 2:
            yield from _made(names[1], "has exit", predicate.removesuffix(_DIRECTION), "seen")
    for thing, holder in state.holders.items():
        place = "inventory" if holder == INVENTORY else holder
        if thing not in foods:
            yield from _made(thing, _PLACES[state.placing[thing]], place, "seen")


def _made(
    subject: str, relation: str, object_: str, how: Learned
) -> Iterator[tuple[Triplet, Learned]]:
    triplet = make_triplet(subject, relation, object_)
    if triplet is not None:
        yield triplet, how


def _values(triplets: Iterable[Triplet]) -> dict[str, tuple[str, ...]]:
    values: dict[str, set[str]] = {}
    for triplet in triplets:
        values.setdefault(triplet.relation, set()).add(triplet.object)
    return {relation: tuple(sorted(objects)) for relation, objects in values.items()}
