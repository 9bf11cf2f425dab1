"""The player of Cooking that knows the recipe and where everything is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.envs.world_state import WorldState

PREPARE_MEAL = "prepare meal"
"""A valid action once all ingredients are in hand; refused until they are processed."""

_CUTTING = {"chopped": "chop", "sliced": "slice", "diced": "dice"}
_TOOLS = {"fried": "stove", "roasted": "oven", "grilled": "bbq"}


@dataclass(frozen=True)
class Ingredient:
    """What the recipe asks of one food; `cutting` and `cooking` are None where it asks nothing."""

    name: str
    cutting: str | None
    cooking: str | None


@dataclass(frozen=True)
class _Errand:
    """A command that helps, and the room to give it in."""

    room: str | None
    command: str


class CookingOracle:
    """Does the nearest thing that helps: fetches, cooks, cuts, at last prepares and eats the meal.

    It plans anew from the facts at every step, so that it recovers from whatever was done before;
    but for an ingredient that was eaten or processed wrongly, which loses the game.
    """

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        """One of the valid actions on the way to the meal; None when it is eaten or lost."""
        command = None if observation.done else _Kitchen(facts).next_command()
        offered = {action.lower(): action for action in observation.valid_actions}
        return None if command is None else offered.get(command)


def recipe(facts: Iterable[TrueFact]) -> tuple[Ingredient, ...]:
    """The ingredients of a cooking game, by name; empty if these are not the facts of one."""
    known = frozenset(facts)

    def asked(kind: str, ways: Iterable[str]) -> str | None:
        return next((way for way in ways if TrueFact(way, (kind,)) in known), None)

    return tuple(
        sorted(
            (
                Ingredient(food, asked(kind, _CUTTING), asked(kind, _TOOLS))
                for food, kind in (fact.arguments for fact in known if fact.predicate == "base")
            ),
            key=lambda ingredient: ingredient.name,
        )
    )


class _Kitchen:
    """The facts of one moment, by what is asked of them."""

    def __init__(self, facts: frozenset[TrueFact]) -> None:
        self._facts = facts
        self._state = WorldState(facts)
        self._recipe = recipe(facts)
        self._to_cut = [
            one for one in self._recipe if one.cutting and not self._is(one.cutting, one)
        ]
        self._to_cook = [
            one for one in self._recipe if one.cooking and not self._is(one.cooking, one)
        ]
        hands = [fact.predicate for fact in facts if self._is_hand(fact)]
        self._hands_full = bool(hands) and "free" not in hands

    @staticmethod
    def _is_hand(fact: TrueFact) -> bool:
        """`free` and `used` are said of each thing that can be carried, where that is limited."""
        return fact.predicate in ("free", "used") and fact.arguments[0].startswith("slot")

    def _is(self, predicate: str, ingredient: Ingredient) -> bool:
        return TrueFact(predicate, (ingredient.name,)) in self._facts

    def _about(self, predicate: str) -> str:
        """The thing of which the predicate is said first; empty if of none."""
        said = sorted(fact.arguments for fact in self._facts if fact.predicate == predicate)
        return said[0][0] if said else ""

    def next_command(self) -> str | None:
        """The command for the nearest errand, or one on the way to it; None if nothing helps."""
        here = self._state.location
        meal = self._about("out")
        if meal in self._state.held:
            return f"eat {meal}"
        if here is None or not self._can_succeed():
            return None
        routes = self._state.routes(here)
        errands = [errand for errand in self._errands(here) if errand.room in routes]
        if not errands:
            return None
        nearest = min(errands, key=lambda errand: routes[errand.room or ""].length)
        return routes[nearest.room or ""].first or nearest.command

    def _can_succeed(self) -> bool:
        cuttable = all(self._is("uncut", one) for one in self._to_cut)
        cookable = not any(self._is("cooked", one) for one in self._to_cook)
        present = all(one.name in self._state.holders for one in self._recipe)
        return bool(self._recipe) and present and cuttable and cookable

    def _errands(self, here: str) -> Iterator[_Errand]:
        """What helps now; of two in one room, what is to be done first comes first."""
        held, knife = self._state.held, self._about("sharp")
        if knife in held:
            for one in self._to_cut:
                if one.name in held:
                    yield _Errand(here, f"{_CUTTING[one.cutting or '']} {one.name} with {knife}")
        for one in self._to_cook:
            if one.name in held:
                tool = _TOOLS[one.cooking or ""]
                yield _Errand(self._state.room_of(tool), f"cook {one.name} with {tool}")
        if self._to_cut and knife not in held:
            yield self._fetch(knife)
        # With the hands full, room for what has yet to be cut is made by putting down what is cut.
        missing = [one for one in self._recipe if one.name not in held]
        for one in sorted(missing, key=lambda one: one not in self._to_cut):
            yield self._fetch(one.name)
        if not (missing or self._to_cut or self._to_cook):
            yield _Errand(self._about("cooking_location"), PREPARE_MEAL)

    def _fetch(self, thing: str) -> _Errand:
        """Take the thing, or first open what it is in, or first put something down."""
        state = self._state
        room, holder = state.room_of(thing), state.holders.get(thing, "")
        if state.is_closed(holder):
            return _Errand(room, f"open {holder}")
        if self._hands_full:
            return _Errand(room, f"drop {self._spare()}")
        return _Errand(room, f"take {thing}" if holder == room else f"take {thing} from {holder}")

    def _spare(self) -> str:
        """What of the things carried is missed least."""
        wanted = {one.name: 2 if one in self._to_cut else 1 for one in self._recipe}
        if self._to_cut:
            wanted[self._about("sharp")] = 3
        return min(sorted(self._state.held), key=lambda thing: wanted.get(thing, 0))
