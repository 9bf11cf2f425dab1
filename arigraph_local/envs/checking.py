"""Whether a made game keeps its word: its text, its valid actions and its facts tell one story."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from random import Random

from arigraph_local.envs.environment import Environment
from arigraph_local.envs.world_state import INVENTORY, WorldState, names_in
from arigraph_local.errors import GameError

WALKS = 3
WALK_STEPS = 100
_FACTS_WALKED = 15_000
"""Most steps of a walk times facts: TextWorld goes through its facts at every step."""

_ROOM_HEADER = re.compile(r"^-= (.+?) =-", re.MULTILINE)
_LIST_SEPARATOR = re.compile(r", | and ")
_REFUSED = re.compile(
    r"You can't (see any such thing|go that way|use|put|open)|That's not|That is not|"
    r"I (didn't understand|only understood)|Which do you mean|What do you want|"
    r"You (need to|must|have to|aren't|already|seem to want)"
)
_PREPOSITION = re.compile(r" (?:from|with|on|into) ")
_CONDITION_AFTER = {"open": "open", "close": "closed", "unlock": "closed", "lock": "locked"}
_CHANGES_NOTHING = frozenset({"examine", "look", "inventory"})


def check_game(
    make: Callable[[], Environment],
    walkthrough: Sequence[str],
    max_score: int,
    name: str = "the game",
    stateless: Collection[str] = (),
    refusable: Collection[str] = (),
) -> None:
    """Play a game as an agent could, and raise `GameError` where it does not agree with itself.

    The walkthrough's commands must be valid actions and win all `max_score` points. Along it and
    along `WALKS` random walks of `WALK_STEPS` steps (fewer in games of more than 150 facts, whose
    steps take long), every step must agree: the inventory text with what the facts say is
    carried, the room's header and description with where the facts put the player and the things
    in sight, the moves offered with the open exits, and what the facts become with the action
    taken. Whatever can be opened must be open, closed or locked by the facts, but for the things
    named `stateless`, which no valid action ever concerns. The valid actions in `refusable` may
    be refused all the same, if that changes nothing.

    `name` is the game's in the error, which says the step and what disagrees.
    """
    environment = make()
    try:
        check = _Check(environment, name, stateless, refusable)
        check.walkthrough(walkthrough, max_score)
        for number in range(1, WALKS + 1):
            check.random_walk(number)
    finally:
        environment.close()


class _Check:
    """One environment being played; `_seen`, `_facts` and `_state` are of the same moment."""

    def __init__(
        self,
        environment: Environment,
        name: str,
        stateless: Collection[str],
        refusable: Collection[str],
    ) -> None:
        self._environment = environment
        self._name = name
        self._where = "its start"
        self._undescribed = False
        self._tried_to_open = set(stateless)
        self._refusable = frozenset(refusable)

    def walkthrough(self, commands: Sequence[str], max_score: int) -> None:
        """Play the commands; every point must be won."""
        self._begin("its walkthrough")
        for number, command in enumerate(commands, start=1):
            self._where = f"step {number} of its walkthrough, '{command}'"
            if command not in self._seen.valid_actions:
                raise self._error("the command is not among the valid actions")
            self._take(command)
        seen = self._seen
        if not seen.won or (seen.score, seen.max_score) != (max_score, max_score):
            self._where = "the end of its walkthrough"
            of = f"{seen.score} of {seen.max_score} points, not {max_score}"
            raise self._error(of if not seen.won else f"won with {of}")

    def random_walk(self, number: int) -> None:
        """Take random valid actions, each verb as often as any other; begin again at an end."""
        rng = Random(number)
        self._begin(f"random walk {number}")
        for step in range(1, min(WALK_STEPS, _FACTS_WALKED // len(self._facts)) + 1):
            actions: dict[str, list[str]] = {}
            for action in self._seen.valid_actions:
                actions.setdefault(action.split()[0], []).append(action)
            if not actions:
                self._begin(f"random walk {number}")
                continue
            command = rng.choice(actions[rng.choice(sorted(actions))])
            self._where = f"step {step} of random walk {number}, '{command}'"
            self._take(command)

    def _begin(self, walk: str) -> None:
        self._where = f"the start of {walk}"
        self._seen = self._environment.reset()
        self._facts = self._environment.true_facts()
        self._state = WorldState(self._facts)
        self._check_state()
        self._check_room(self._seen.text)

    def _take(self, command: str) -> None:
        if self._undescribed and command.startswith("go "):
            # A look costs a step: one before leaving shows all that was changed here.
            self._check_room(self._environment.step("look").text)
        before, was = self._facts, self._state
        self._seen = self._environment.step(command)
        self._facts = self._environment.true_facts()
        changed = self._facts != before
        self._state = WorldState(self._facts) if changed else was
        answer = self._seen.text
        if _REFUSED.match(answer):
            raise self._error(f"the game answers a valid action with '{_first_line(answer)}'")
        wrong = _effect(command.lower(), was, self._state, changed)
        if wrong and (changed or command not in self._refusable):
            raise self._error(f"{wrong}; the game answers '{_first_line(answer)}'")
        self._check_state()
        if self._seen.done:
            return
        if command.startswith("go "):
            self._check_room(answer)
        elif changed:
            self._undescribed = True

    def _check_state(self) -> None:
        """Location, inventory, what can be opened and gone through, and the state of containers."""
        seen, state = self._seen, self._state
        if state.location is None or seen.location != state.location:
            where = f"{seen.location}, by the facts in {state.location}"
            raise self._error(f"the player is in {where}")
        if state.twice:
            raise self._error(f"by the facts {sorted(state.twice)[0]} is in two places")
        if not seen.done:
            # A game that is over answers no more: the inventory is that of the step before.
            self._check_inventory()
            self._check_offered("go", state.exits.get(state.location, ()))
            self._check_offered("open", self._closed_here())
        for thing, conditions in state.conditions.items():
            if len(conditions) > 1:
                raise self._error(f"by the facts {thing} is {_listed(conditions)} at once")
        for thing, holder in state.holders.items():
            inside = state.placing[thing] == "in" and holder in state.holders
            if inside and holder not in state.conditions:
                raise self._error(f"no fact says whether {holder} is open, closed or locked")

    def _closed_here(self) -> list[str]:
        state, room = self._state, self._state.location or ""
        return [
            thing
            for thing, conditions in state.conditions.items()
            if conditions == {"closed"}
            and (state.holders.get(thing) == room or thing in state.doors.get(room, ()))
        ]

    def _check_offered(self, verb: str, by_facts: Iterable[str]) -> None:
        actions = self._seen.valid_actions
        offered = {one.lower().partition(" ")[2] for one in actions if one.startswith(f"{verb} ")}
        if offered != set(by_facts):
            differ = f"{_listed(offered)}, by the facts {_listed(by_facts)}"
            raise self._error(f"the valid actions say what to {verb}: {differ}")

    def _check_inventory(self) -> None:
        held, text = self._state.held, self._seen.inventory.lower()
        named, rest = names_in(text.partition("carrying")[2].strip(": ."), self._state.holders)
        if sorted(named) != sorted(held):
            raise self._error(f"the inventory names {_listed(named)}, by the facts {_listed(held)}")
        if len(_LIST_SEPARATOR.split(rest)) != max(1, len(held)):
            raise self._error(f"the inventory is '{text}', by the facts {_listed(held)}")

    def _check_room(self, text: str) -> None:
        """The description of the room names the room and what is in sight, and nothing else."""
        self._undescribed = False
        room = self._state.location
        assert room is not None
        header = _ROOM_HEADER.search(text)
        if header is None or header[1].lower() != room:
            raise self._error(f"'{_first_line(text)}' does not begin with the name of {room}")
        rest = text[header.end() :].lower()
        in_sight = self._state.in_sight(room)
        named, rest = names_in(rest, in_sight)
        for thing in sorted(in_sight - set(named)):
            raise self._error(f"{thing} is in sight by the facts, but not in the description")
        for thing in names_in(rest, set(self._state.holders) - in_sight)[0]:
            raise self._error(f"{thing} is described, but by the facts not in sight")
        self._check_openings()

    def _check_openings(self) -> None:
        """What the game opens must have a state, or the facts could not follow."""
        state, actions = self._state, {action.lower() for action in self._seen.valid_actions}
        fixed = {
            thing
            for thing, holder in state.holders.items()
            if holder == state.location and f"take {thing}" not in actions
        }
        for thing in sorted(fixed - set(state.conditions) - self._tried_to_open):
            self._tried_to_open.add(thing)
            if self._environment.step(f"open {thing}").text.startswith("You open"):
                raise self._error(f"{thing} can be opened, but no fact says whether it is open")

    def _error(self, what: str) -> GameError:
        return GameError(f"'{self._name}', {self._where}: {what}")


def _effect(command: str, was: WorldState, now: WorldState, changed: bool) -> str | None:
    """What is wrong with the facts after a command, None if nothing is."""
    verb, _, rest = command.partition(" ")
    if verb == "go":
        there = was.exits.get(was.location or "", {}).get(rest)
        return None if now.location == there else f"the facts put the player in {now.location}"
    if verb in _CHANGES_NOTHING:
        return "the facts have changed" if changed else None
    thing, other = _names(rest, was)
    if verb in _CONDITION_AFTER:
        wanted = {_CONDITION_AFTER[verb]}
        fits = now.conditions.get(thing) == wanted != was.conditions.get(thing)
        return None if fits else f"by the facts {thing} is {_listed(now.conditions.get(thing, ()))}"
    places = {
        "take": ("in", INVENTORY),
        "drop": ("at", was.location),
        "put": ("on", other),
        "insert": ("in", other),
    }
    if verb in places:
        place = (now.placing.get(thing), now.holders.get(thing))
        return None if place == places[verb] else f"by the facts {thing} is {place[0]} {place[1]}"
    return None if changed else "the facts have not changed"


def _names(phrase: str, state: WorldState) -> tuple[str, str | None]:
    """The thing of a command, and what follows its preposition; a name may hold one as well."""
    known = {*state.holders, *state.conditions}
    for match in _PREPOSITION.finditer(phrase):
        if phrase not in known and phrase[: match.start()] in known:
            return phrase[: match.start()], phrase[match.end() :]
    return phrase, None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:100]
