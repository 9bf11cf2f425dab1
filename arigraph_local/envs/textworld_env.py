"""TextWorld games (a `.z8` story file with its `.json` beside it) as an `Environment`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from arigraph_local.envs.environment import GAME_OVER, Observation, TrueFact
from arigraph_local.envs.story_file import check_story_file
from arigraph_local.errors import GameError

GENERIC_GOAL = "Explore the place and score as many points as you can."
NOT_UNDERSTOOD = "That is not a command that can be understood here."
MAX_COMMAND_LENGTH = 200
SEED = 1
"""Of the interpreter's chance."""

_STATUS_LINE = re.compile(r"\n?>?[ \t]*-= [^\n]* =-[ \t]*-?\d+/\d+\s*\Z")
_ROOM_HEADER = re.compile(r"^-= (?P<room>.+?) =-[ \t]*$", re.MULTILINE)
_PROMPT = re.compile(r"\n?>\s*\Z")
_BLANK_LINES = re.compile(r"\n{3,}")
_RESTART_QUESTION = re.compile(r"\n+\s*Would you like to RESTART[^\n]*\Z")
_WON = "*** The End ***"
_LOST = "*** You lost! ***"

_PLAIN_COMMAND = re.compile(r"[A-Za-z0-9' -]+")
_SEVERAL_AT_ONCE = re.compile(r"\b(?:then|and|all|each|every|everything|both)\b", re.IGNORECASE)
_DIRECTIONS = {"n", "s", "e", "w", "north", "south", "east", "west"}
_SYNONYMS = {"goal", "help", "wait", "z", "x", "l", "i", "inv", "get", "pick", "shut", "read"}
_ALWAYS_SHOWN = frozenset({"inventory", "look"})


def clean_text(raw: str) -> str:
    """The game's answer without the prompt, the status line and superfluous blank space."""
    text = _PROMPT.sub("", _STATUS_LINE.sub("", raw))
    text = "\n".join(line.strip() for line in text.splitlines())
    text = _BLANK_LINES.sub("\n\n", text).strip()
    return _RESTART_QUESTION.sub("", text)


def clean_opening(raw: str) -> str:
    """The first answer of a game, from its room header on: no banner, no objective."""
    text = clean_text(raw)
    header = _ROOM_HEADER.search(text)
    return text[header.start() :] if header else text


class TextWorldEnvironment:
    """Plays a game made with TextWorld through its text interface.

    `goal` is used where the game itself has no objective. Only a single command in the game's
    own verbs reaches the interpreter: several sentences at once, control characters and the
    interpreter's own commands (`quit`, `undo`, `print_state` …) are answered with
    `NOT_UNDERSTOOD` and change nothing, because the facts could not follow them.

    Raises `GameError` if the story file or its `.json` is missing or damaged.
    """

    def __init__(self, path: Path | str, goal: str | None = None) -> None:
        self._path = Path(path)
        check_story_file(self._path)
        self._game: Any = _load(self._path)
        objective = str(self._game._game.objective or "").strip()
        self._goal = objective or goal or GENERIC_GOAL
        self._max_score = int(self._game._game.max_score)
        self._state: Any = None
        self._last: Observation | None = None
        self._admissible: frozenset[str] = frozenset()
        self._verbs: frozenset[str] = frozenset()

    @property
    def goal(self) -> str:
        """The game's own objective, else the one given, else a generic sentence."""
        return self._goal

    @property
    def max_score(self) -> int:
        """The points of all the game's quests; 0 for a game without quests."""
        return self._max_score

    def reset(self) -> Observation:
        """Start over. The first observation holds the description of the room."""
        game = self._loaded()
        self._state = self._guard(game.reset)
        self._verbs = (
            frozenset(verb.lower() for verb in self._state["verbs"]) | _SYNONYMS | _DIRECTIONS
        )
        text = clean_opening(self._state["feedback"])
        header = _ROOM_HEADER.match(text)
        location = self._location()
        if header and location and header["room"].strip().lower() != location:
            raise GameError(
                f"'{self._path.with_suffix('.json')}' does not belong to '{self._path.name}': "
                f"the game begins in {header['room']}, the file says {location}"
            )
        return self._observe(text)

    def step(self, command: str) -> Observation:
        """Send one command; see the class for those that never reach the interpreter."""
        game, last = self._loaded(), self._last
        if last is None:
            raise GameError(f"'{self._path}' has not been reset")
        if last.done:
            return replace(last, text=GAME_OVER)
        command = command.strip(" ")
        if not self._is_one_command(command):
            return replace(last, text=NOT_UNDERSTOOD)
        self._state = self._guard(lambda: game.step(command)[0])
        return self._observe(clean_text(self._state["feedback"]))

    def true_facts(self) -> frozenset[TrueFact]:
        """Every proposition of the game's state; names are lower-case, `P` and `I` are `p`, `i`."""
        if self._state is None:
            raise GameError(f"'{self._path}' has not been reset")
        return frozenset(
            TrueFact(fact.name, tuple(argument.name.lower() for argument in fact.arguments))
            for fact in self._state["facts"]
        )

    def close(self) -> None:
        """Free the interpreter. Closing twice is harmless."""
        if self._game is not None:
            self._game.close()
            self._game = None

    def _loaded(self) -> Any:
        if self._game is None:
            raise GameError(f"'{self._path}' has been closed")
        return self._game

    def _guard(self, call: Any) -> Any:
        try:
            return call()
        except (RuntimeError, ValueError, TypeError, AttributeError, LookupError) as error:
            raise GameError(f"'{self._path}' crashed: {_one_line(error)}") from error

    def _is_one_command(self, command: str) -> bool:
        if command.lower() in self._admissible:
            return True
        return (
            0 < len(command) <= MAX_COMMAND_LENGTH
            and _PLAIN_COMMAND.fullmatch(command) is not None
            and _SEVERAL_AT_ONCE.search(command) is None
            and command.split()[0].lower() in self._verbs
        )

    def _location(self) -> str | None:
        for fact in self._state["facts"]:
            if fact.name == "at" and fact.arguments[0].type == "P":
                return str(fact.arguments[1].name).lower()
        return None

    def _observe(self, text: str) -> Observation:
        state = self._state
        won, lost = _WON in state["feedback"], _LOST in state["feedback"]
        commands = [] if won or lost else state["admissible_commands"]
        self._admissible = frozenset(command.lower() for command in commands)
        self._last = Observation(
            text=text,
            inventory=clean_text(state["inventory"] or ""),
            location=self._location(),
            valid_actions=tuple(sorted(set(commands) - _ALWAYS_SHOWN)),
            score=int(state["score"] or 0),
            max_score=self.max_score,
            done=won or lost,
            won=won,
        )
        return self._last


def _load(path: Path) -> Any:
    facts_file = path.with_suffix(".json")
    if not facts_file.is_file():
        raise GameError(f"the game '{path}' has no '{facts_file.name}' beside it")
    import textworld  # a second and a half: only when a game is played

    wanted = textworld.EnvInfos(
        facts=True, admissible_commands=True, inventory=True, score=True, verbs=True
    )
    try:
        game = textworld.start(str(path), wanted)
        # Chance would go by the clock, and a resumed game another way.
        game.seed(SEED)
        _name_drinking(game)
        return game
    except OSError as error:
        raise GameError(f"cannot read '{path}': {error.strerror or error}") from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise GameError(
            f"'{facts_file}' is not the description of a TextWorld game: {_one_line(error)}"
        ) from error


def _name_drinking(game: Any) -> None:
    """Let the facts follow a drink: TextWorld's cooking rules wait for the event by another name
    than that by which the story tells it."""
    knowledge = game._game.kb
    if "Drinking carried thing is an action" in knowledge.inform7_addons_code:
        knowledge.inform7_events["drink"] = "drinking carried thing the {f}"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
