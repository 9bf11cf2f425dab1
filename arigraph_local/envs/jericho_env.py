"""Any Z-machine game as an `Environment`, through Jericho (Hausknecht et al., arXiv 1909.05398)."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arigraph_local.envs.environment import GAME_OVER, Observation, TrueFact
from arigraph_local.envs.jericho_actions import (
    MOST_TRIES,
    Surroundings,
    Trial,
    Vocabulary,
    valid_actions,
)
from arigraph_local.envs.jericho_memory import Bytes, StoryMemory
from arigraph_local.envs.jericho_text import (
    MAX_COMMAND_LENGTH,
    CommandGuard,
    clean_answer,
    clean_opening,
    ending,
    is_victory,
    read_score,
)
from arigraph_local.envs.jericho_tree import ObjectTree
from arigraph_local.envs.story_file import load_story
from arigraph_local.envs.textworld_env import GENERIC_GOAL, NOT_UNDERSTOOD, SEED
from arigraph_local.errors import GameError

_LANGUAGE_MODEL = "en_core_web_sm"
_SCORE_VARIABLE = 1


class JerichoEnvironment:
    """Plays a Z-machine story file of any version, or a Blorb archive that holds one.

    For the games that Jericho knows, score, maximum, victory and defeat are Jericho's; for others
    they are what the game prints, and 0 of 0 if it prints no score. The location and the facts
    come from the object tree. The valid actions are Jericho's own where the game is known and the
    language model that it needs is installed, else those of `jericho_actions`: an approximation.
    Chance is seeded, so that the same commands lead to the same text.

    Only one command at a time reaches the interpreter, and none of those that mean the program
    (`save`, `quit`, `undo` …): others are answered with `NOT_UNDERSTOOD` and change nothing.

    `tries` is how many commands are tried for each list of valid actions: with fewer it is made
    sooner and holds less. Raises `GameError` if the file is missing, damaged or no Z-machine game.
    """

    goal = GENERIC_GOAL

    def __init__(self, path: Path | str, tries: int = MOST_TRIES) -> None:
        self._path = Path(path)
        self._tries = tries
        story = load_story(self._path)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._game, words = _load(self._playable(story))
        self._memory = StoryMemory(story)
        self._known = bool(self._game.is_fully_supported)
        self._tree: ObjectTree | None = None
        self._max_score = 0
        self._last: Observation | None = None
        self._vocabulary = Vocabulary(words, self._memory.word_codes)
        self._guard = CommandGuard(self._vocabulary.verbs, self._memory.word_codes)

    def reset(self) -> Observation:
        """Start over. The first observation holds what the game says before the first command."""
        try:
            raw, _ = self._loaded().reset()
        except ValueError as error:
            raise GameError(f"'{self._path}' begins with what cannot be read: {error}") from error
        self._last = None
        if self._tree is None:
            player = self._game.player_obj_num if self._known else None
            self._tree = ObjectTree(self._memory, self._ram(), player)
            if self._tree.player is None:
                self._find_player(self._tree)
        return self._observe(raw, clean_opening(raw))

    def step(self, command: str) -> Observation:
        """Send one command; see the class for those that never reach the interpreter."""
        game, last = self._loaded(), self._last
        if last is None:
            raise GameError(f"'{self._path}' has not been reset")
        if last.done:
            return replace(last, text=GAME_OVER)
        command = command.strip(" ")
        if not self._guard.allows(command):
            return replace(last, text=NOT_UNDERSTOOD)
        raw = _answer(game, command)
        return self._observe(raw, clean_answer(raw))

    def true_facts(self) -> frozenset[TrueFact]:
        """What lies where, by the object tree: `in(brass lamp, kitchen)`. The player is `p`.

        Things of one name have their object's number behind it.
        """
        if self._last is None or self._tree is None:
            raise GameError(f"'{self._path}' has not been reset")
        return self._tree.facts(self._ram())

    def close(self) -> None:
        """Free the interpreter. Closing twice is harmless."""
        if self._game is not None:
            self._game.close()
            self._game = None
        if self._copy is not None:
            self._copy.cleanup()

    def _loaded(self) -> Any:
        if self._game is None:
            raise GameError(f"'{self._path}' has been closed")
        return self._game

    def _playable(self, story: bytes) -> str:
        """A file that Jericho can read: no archive, and with an ending, without which it crashes.

        It is read again at each reset.
        """
        if self._path.suffix and self._path.stat().st_size == len(story):
            return str(self._path)
        self._copy = tempfile.TemporaryDirectory(prefix="arigraph-story-")
        copy = Path(self._copy.name) / "story.z"
        copy.write_bytes(story)
        return str(copy)

    def _ram(self) -> Bytes:
        ram: Bytes = self._loaded()._get_ram()
        return ram

    def _observe(self, raw: str, text: str) -> Observation:
        game, last = self._game, self._last
        how = ending(raw)
        won = bool(game.victory()) if self._known else how is not None and is_victory(how)
        lost = bool(game.game_over()) if self._known else how is not None
        done = won or lost or game._emulator_halted()
        if done:
            self._last = Observation(
                text=text,
                inventory=last.inventory if last else "",
                location=last.location if last else None,
                valid_actions=(),
                score=self._score(text, last),
                max_score=self._max_score,
                done=True,
                won=won,
            )
        else:
            self._last = self._in_play(text, last)
        return self._last

    def _in_play(self, text: str, last: Observation | None) -> Observation:
        trying = _Trying(self._game, self._memory.world)
        inventory, look = trying("inventory").answer, trying("look").answer
        score = self._score(trying("score").answer, last)
        assert self._tree is not None
        ram = self._ram()
        return Observation(
            text=text,
            inventory=inventory,
            location=self._tree.location(ram) or _heading(look),
            valid_actions=self._valid_actions(trying, ram, f"{text}\n{look}\n{inventory}"),
            score=score,
            max_score=self._max_score,
            done=False,
            won=False,
        )

    def _valid_actions(self, trying: _Trying, ram: Bytes, text: str) -> tuple[str, ...]:
        game, tree = self._game, self._tree
        assert tree is not None
        if self._known and game.bindings and find_spec(_LANGUAGE_MODEL) is not None:
            found = game.get_valid_actions(use_parallel=False)
            return tuple(sorted({*found, "look", "inventory"}))
        surroundings = Surroundings(text, tree.things(ram), tree.carried(ram))
        world = self._memory.world(ram)
        return valid_actions(
            trying, self._memory, world, self._vocabulary, surroundings, self._tries
        )

    def _score(self, answer: str, last: Observation | None) -> int:
        """The score now; the highest possible one is noted if the game tells it."""
        if self._known:
            self._max_score = int(self._game.get_max_score())
            return int(self._game.get_score())
        told = read_score(answer)
        if told is not None and told[1] is not None:
            self._max_score = told[1]
        if self._memory.shows_score:
            return self._memory.global_variable(self._ram(), _SCORE_VARIABLE)
        if told is not None:
            return told[0]
        return last.score if last else 0

    def _find_player(self, tree: ObjectTree) -> None:
        """The object that moves when the player walks."""
        trying = _Trying(self._game, lambda ram: ram)
        before = self._ram()
        after = [trying(way).world for way in ("north", "east", "south", "west", "up", "down")]
        tree.find_player(before, after)


class _Trying:
    """Tries commands in a game and takes each back."""

    def __init__(self, game: Any, world: Callable[[Bytes], Bytes]) -> None:
        self._game = game
        self._world = world
        self._state = game.get_state()

    def __call__(self, command: str) -> Trial:
        game = self._game
        raw = _answer(game, command)
        ended = bool(game._emulator_halted()) or ending(raw) is not None
        world = self._world(game._get_ram())
        if game._emulator_halted():
            game.reset()
        game.set_state(self._state)
        return Trial(clean_answer(raw), ended, world)


def _load(path: str) -> tuple[Any, list[Any]]:
    """The interpreter and the words of its dictionary."""
    import jericho

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jericho.UnsupportedGameWarning)
        game = jericho.FrotzEnv(path)
    if "seed" not in game.bindings:
        game.seed(SEED)
    return game, game.get_dictionary()


def _answer(game: Any, command: str) -> str:
    """What the game prints. Jericho's own `step` fails at a letter outside its character set."""
    line = command.encode("ascii", errors="replace")[:MAX_COMMAND_LENGTH]
    answer: bytes = game.frotz_lib.step(line + b"\n")
    return answer.decode("cp1252", errors="replace")


def known_walkthrough(story: Path) -> tuple[str, ...]:
    """The commands that Jericho gives for a game that it knows; none for any other."""
    from jericho.defines import BINDINGS_DICT

    digest = hashlib.md5(story.read_bytes(), usedforsecurity=False).hexdigest()
    commands = BINDINGS_DICT.get(digest, {}).get("walkthrough", "").split("/")
    return tuple(filter(None, commands))


def _heading(look: str) -> str | None:
    """The first line of a description, where it may be a room's name."""
    first = look.partition("\n")[0].strip()
    return first.lower() if 0 < len(first) <= 60 and not first.endswith((".", "!", "?")) else None
