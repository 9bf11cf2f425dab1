"""What a Z-machine game prints, and what may be typed to it."""

from __future__ import annotations

import re

from arigraph_local.envs.jericho_words import (
    ALONE_FOR_THE_INTERPRETER,
    FOR_THE_INTERPRETER,
)

MAX_COMMAND_LENGTH = 120
"""Characters: games have room for so many, or fewer and cut the rest off."""

_PROMPT_BEHIND = re.compile(r"(?:\A|\n)>[^\n]*\s*\Z")
_PROMPT_BEFORE = re.compile(r"\A\s*>[^\n]*\n")
"""Either may hold the status line too."""
_BLANK_LINES = re.compile(r"\n{3,}")
_END_QUESTION = re.compile(
    r"(?:\A|\n+)[^\n]*\bRESTART\b[^\n]*\bQUIT\b[^\n]*(?:\n[^\n]*)?\Z", re.IGNORECASE
)
_ENDING = re.compile(
    r"^[ \t]*(?P<stars>\*{3,})[ \t]*(?P<how>[^*\n]{1,80}?)[ \t]*\*{3,}[ \t]*$", re.MULTILINE
)
_FATE = re.compile(
    r"\b(?:die[ds]?|dead|death|killed|won|win|lost|lose|the end|game over|finished|victor\w*)\b",
    re.IGNORECASE,
)
_VICTORY = re.compile(r"\b(?:won|win|victory|victorious|triumph\w*|the end)\b", re.IGNORECASE)
_SCORE = re.compile(
    r"\bscored?\b(?: would be| was| is)?[^\d\n-]{0,20}(?P<score>-?\d+)"
    r"(?:[^\d]{0,40}?\b(?:out of|total of|maximum of|of|possible)\b[^\d]{0,20}(?P<most>\d+))?",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"^-= | =-$")
_ASIDE = re.compile(r"\s*\([^()]*\)$")

_PLAIN = re.compile(r"[A-Za-z0-9'\"][A-Za-z0-9'\",!?:$_ -]*")
_SEPARATORS = re.compile(r",|\band\b", re.IGNORECASE)
_THEN = re.compile(r"\bthen\b", re.IGNORECASE)

_TEXTWORLD_OPTION = re.compile(r"(?:enable|disable) print\b.*", re.IGNORECASE)

_REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:not|isn't|no) (?:a )?verb\b",
        r"\b(?:don't|doesn't|didn't|do not|does not|can't|cannot) "
        r"(?:know|recogni[sz]e|understand|see any)\b",
        r"\bisn't (?:in the vocabulary|here)\b",
        r"\bnot in the vocabulary\b",
        r"\bnoun (?:missing|here)\b",
        r"\bsuch thing\b",
        r"\bwh(?:ich|at|o|om)\b[^.!\n]{0,60}\b(?:do|did) you (?:mean|want)\b",
        r"\breferring to\b",
        r"\bneed to (?:use|refer to)\b",
        r"\bbeg your pardon\b",
    )
)


def clean_answer(raw: str) -> str:
    """The game's answer without prompts, status line and superfluous blank space."""
    return _END_QUESTION.sub("", _without_prompts(raw)).strip()


def _without_prompts(raw: str) -> str:
    text = _PROMPT_BEFORE.sub("", _PROMPT_BEHIND.sub("", raw))
    text = "\n".join(line.strip() for line in text.splitlines())
    return _BLANK_LINES.sub("\n\n", text).strip()


def clean_opening(raw: str) -> str:
    """The first answer, without pictures made of signs."""
    lines = [line for line in raw.splitlines() if not line.strip() or _is_writing(line)]
    return clean_answer("\n".join(lines))


def _is_writing(line: str) -> bool:
    letters = sum(character.isalnum() or character.isspace() for character in line.strip())
    return 2 * letters >= len(line.strip()) and re.search("[A-Za-z0-9]", line) is not None


def ending(raw: str) -> str | None:
    """How the game ended by its own word (`You have won`, perhaps nothing), or None while it
    goes on.

    An ended game asks whether to restart or quit, or says so between three asterisks, as Inform
    does. More asterisks alone are no end: Infocom's players die and go on.
    """
    text = _without_prompts(raw)
    found = _ENDING.search(text)
    if _END_QUESTION.search(text):
        return found["how"] if found else ""
    if found and found["stars"] == "***" and _FATE.search(found["how"]):
        return found["how"]
    return None


def is_victory(how: str) -> bool:
    """Whether an ending is a good one, by its words."""
    return _VICTORY.search(how) is not None and "lost" not in how.lower()


def read_score(text: str) -> tuple[int, int | None] | None:
    """The score in an answer to `score` and the highest one, if the game tells; None if neither."""
    found = _SCORE.search(text)
    if found is None:
        return None
    return int(found["score"]), int(found["most"]) if found["most"] else None


def refused(answer: str) -> bool:
    """Whether an answer says that the command was not understood, or named nothing in sight."""
    return not answer or any(pattern.search(answer) for pattern in _REFUSALS)


def plain_name(text: str) -> str:
    """A name as an observation gives it: lower-case, without decoration or asides."""
    return _ASIDE.sub("", _DECORATION.sub("", " ".join(text.split()))).strip().lower()


def cut_word(word: str, codes: int) -> str:
    """A word as a dictionary has it: `codes` codes, of which a sign or digit takes two."""
    for length, character in enumerate(word):
        codes -= 1 if character.isascii() and character.isalpha() else 2
        if codes < 0:
            return word[:length]
    return word


class CommandGuard:
    """Tells which lines are one command to the world. `verbs` are the words of the game's
    dictionary that begin a command, cut to `codes` as the game cuts what is typed."""

    def __init__(self, verbs: frozenset[str], codes: int) -> None:
        self._verbs = verbs
        self._codes = codes
        self._refused = frozenset(cut_word(word, codes) for word in FOR_THE_INTERPRETER)
        self._refused_alone = frozenset(cut_word(word, codes) for word in ALONE_FOR_THE_INTERPRETER)

    def allows(self, command: str) -> bool:
        """Whether the line may reach the game."""
        words = command.split()
        return (
            bool(words)
            and len(command) <= MAX_COMMAND_LENGTH
            and _PLAIN.fullmatch(command) is not None
            and self._cut(words[0]) not in self._refused
            and not (len(words) == 1 and self._cut(words[0]) in self._refused_alone)
            and _TEXTWORLD_OPTION.fullmatch(command) is None
            and not self._several(command)
        )

    def is_verb(self, word: str) -> bool:
        """Whether a command may begin with the word."""
        return self._cut(word) in self._verbs

    def _several(self, command: str) -> bool:
        """Two commands in a line; `troll, drop axe` is one, and so is `take axe and lamp`."""
        if _THEN.search(command):
            return True
        parts = [part.split() for part in _SEPARATORS.split(command)]
        beginnings = [part[0] for part in parts if part]
        return sum(self.is_verb(word) for word in beginnings) > 1 and self.is_verb(beginnings[0])

    def _cut(self, word: str) -> str:
        return cut_word(word.lower().strip("\"'!?,:"), self._codes)
