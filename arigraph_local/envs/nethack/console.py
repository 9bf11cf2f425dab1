"""The keyboard and screen of one NetHack game: keys in, messages out, and no prompt left open.

Everything that the game may ask is answered here: what a command expects by its replies, all else
in the way that changes least. So after a command the game always waits for the next one.
"""

from __future__ import annotations

import _ctypes
import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arigraph_local.envs.nethack.glyphs import Arrays, GlyphReader
from arigraph_local.envs.nethack.sight import Sight
from arigraph_local.envs.nethack.windows import Window, read_window
from arigraph_local.errors import GameError

ENTER, ESCAPE, NEXT_PAGE = "\r", "\x1b", ">"
KICK, PRAY = "\x04", "\xf0"

_OBSERVED = (
    *("glyphs", "blstats", "message", "screen_descriptions", "tty_chars", "misc"),
    *("inv_strs", "inv_letters", "inv_oclasses", "program_state"),
)
_BIRTHDAY = 1_700_000_000
_MOST_KEYS = 300
"""Keys to get out of prompts, so that no prompt can hold a command for ever."""


@dataclass(frozen=True)
class Reply:
    """When the game asks what `question` matches (a regular expression), type `keys`.

    `choose` is for menus: the text of the line to select.
    """

    question: str
    keys: str = ""
    choose: str | None = None


class Console:
    """A game in progress. `start` first; `over` and `ascended` tell how it ended."""

    def __init__(self, character: str, seed: int) -> None:
        try:
            from nle import nethack
            from nle.env.tasks import NetHackScore
        except ImportError as error:
            raise GameError("NetHack needs the package nle, which cannot be loaded") from error
        self._seed = seed
        self._reader = GlyphReader()
        actions = tuple(nethack.ACTIONS)
        self._index = {chr(int(action)): index for index, action in enumerate(actions)}
        self._env: Any = NetHackScore(
            actions=actions,
            character=character,
            options=_options(nethack.NETHACKOPTIONS),
            observation_keys=_OBSERVED,
            max_episode_steps=2**31,
            allow_all_modes=True,
            allow_all_yn_questions=True,
            fix_moon_phase=True,
        )
        self._arrays: Arrays = {}
        self.over = False
        self.ascended = False

    def start(self) -> list[str]:
        """Begin the game of the seed anew and return the first messages."""
        self._env.unwrapped.seed(core=self._seed, disp=self._seed, reseed=False)
        observation, _ = self._env.reset()
        self._fix_birthday()
        self._take(observation)
        self.over = self.ascended = False
        heard: list[str] = []
        self._settle((), heard)
        return heard

    def command(self, keys: str, replies: Sequence[Reply] = ()) -> list[str]:
        """Type a command and answer what the game asks on it; returns its messages."""
        heard: list[str] = []
        for key in keys:
            self._press(key)
        self._settle(replies, heard)
        # Being asked for a place on the map looks like waiting for a command.
        self._press(ESCAPE)
        self._settle((), [])
        return heard

    def sight(self) -> Sight:
        """What the screen shows now."""
        return self._reader.read(self._arrays)

    def close(self) -> None:
        """Free the game."""
        self._env.close()

    def _press(self, key: str) -> None:
        if self.over:
            return
        observation, _, done, _, info = self._env.step(self._index[key])
        self._take(observation)
        if done:
            self.over = True
            self.ascended = bool(info["is_ascended"])

    def _take(self, observation: Arrays) -> None:
        # The game goes on writing into its arrays.
        self._arrays = {key: array.copy() for key, array in observation.items()}

    def _fix_birthday(self) -> None:
        """Set the hour at which the game began, which nothing else fixes: it decides the names of
        shopkeepers and whether one asks more than another. Levels with shops are made later."""
        library = ctypes.CDLL(self._env.unwrapped.nethack.dlpath)
        ctypes.c_int64.in_dll(library, "ubirthday").value = _BIRTHDAY + self._seed
        # Loaded twice it could not be unloaded, and the game not be started over.
        _ctypes.dlclose(library._handle)

    def _settle(self, replies: Sequence[Reply], heard: list[str]) -> None:
        for _ in range(_MOST_KEYS):
            if self.over:
                return
            question, text_wanted, waits = (bool(flag) for flag in self._arrays["misc"])
            if question or text_wanted:
                self._answer(replies)
            elif waits:
                self._pass_window(replies, heard)
            else:
                heard.extend(split_messages(self._message()))
                return
        raise GameError(f"NetHack does not leave this prompt: {self._message()}")

    def _answer(self, replies: Sequence[Reply]) -> None:
        asked = self._message()
        reply = _reply_to(replies, asked)
        for key in ESCAPE if reply is None else reply.keys:
            self._press(key)

    def _pass_window(self, replies: Sequence[Reply], heard: list[str]) -> None:
        window = read_window(self._rows())
        if window is None:
            heard.extend(split_messages(self._message()))
            self._press(ENTER)
        elif window.is_menu:
            self._choose(window, replies)
        else:
            heard.extend(window.lines)
            self._press(ENTER)

    def _choose(self, window: Window, replies: Sequence[Reply]) -> None:
        wanted = [reply.choose for reply in replies if reply.choose is not None]
        for letter, text in window.choices.items():
            if text in wanted:
                self._press(letter)
                self._press(ENTER)
                return
        self._press(NEXT_PAGE if wanted and window.more_pages else ESCAPE)

    def _message(self) -> str:
        return bytes(self._arrays["message"]).split(b"\0", 1)[0].decode("latin-1").strip()

    def _rows(self) -> list[str]:
        return [bytes(row).decode("latin-1") for row in self._arrays["tty_chars"]]


def _options(usual: Sequence[str]) -> list[str]:
    """The usual options, but of all things only gold is picked up unasked: what is picked up in
    a shop has to be paid for."""
    return [option for option in usual if not option.startswith("pickup_types")] + [
        "pickup_types:$"
    ]


def _reply_to(replies: Sequence[Reply], asked: str) -> Reply | None:
    return next((reply for reply in replies if re.search(reply.question, asked)), None)


def split_messages(text: str) -> list[str]:
    """The messages of one line of the screen; the game puts two spaces between them."""
    text = text.replace("--More--", "")
    return [part for part in (piece.strip() for piece in re.split(r" {2,}|\n", text)) if part]
