"""Which commands a Z-machine game would act on: those that change its world when they are tried.

An approximation. The verbs are those most used in such games, as far as the game's dictionary has
them; the things are what lies about the player in the object tree and what the text names; and
each combination is tried on a saved state. What a game does beyond its objects (a word that opens
a door out of sight, a letter typed in a machine) is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from arigraph_local.envs.jericho_memory import Bytes, StoryMemory
from arigraph_local.envs.jericho_text import cut_word, refused
from arigraph_local.envs.jericho_words import (
    ALONE,
    DIRECTIONS,
    NULL_COMMANDS,
    TELLING,
    USUAL_BEGINNINGS,
    WITH_CARRIED,
    WITH_ONE,
    WITH_ONE_SELDOM,
)

MOST_TRIES = 500
"""Commands tried for one list: each takes about a millisecond."""
_MOST_THINGS = 16
_MOST_WORDS = 40
_SHORTEST_WORD = 3

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


@dataclass(frozen=True)
class Trial:
    """What a command did: the answer, whether the game ended, and the world after it, as
    `StoryMemory.world` gives it."""

    answer: str
    ended: bool
    world: Bytes


class Trying(Protocol):
    """Tries a command and takes it back."""

    def __call__(self, command: str) -> Trial: ...


@dataclass(frozen=True)
class Surroundings:
    """What is known before anything is tried.

    `text` is what the game says of the place and of what the player carries; `things` and
    `carried` are names of objects, in the order of the object tree.
    """

    text: str
    things: tuple[str, ...]
    carried: tuple[str, ...]


class Word(Protocol):
    """A word of a dictionary as Jericho reads it; not every game tells the parts of speech."""

    @property
    def word(self) -> str: ...
    @property
    def is_noun(self) -> bool: ...
    @property
    def is_verb(self) -> bool: ...
    @property
    def is_dir(self) -> bool: ...


class Vocabulary:
    """The words of a game, cut to `codes` (see `cut_word`)."""

    def __init__(self, words: Sequence[Word], codes: int) -> None:
        self._codes = codes
        self._words = frozenset(word.word for word in words)
        usual = frozenset(cut_word(word, codes) for word in USUAL_BEGINNINGS) & self._words
        verbs = frozenset(word.word for word in words if word.is_verb)
        self._nouns = frozenset(word.word for word in words if word.is_noun) or self._words - usual
        self._rare_verbs = verbs - usual
        self.verbs = verbs.union(usual, (word.word for word in words if word.is_dir))

    def knows(self, phrase: str) -> bool:
        """Whether the game knows every word."""
        return all(cut_word(word, self._codes) in self._words for word in phrase.lower().split())

    def rare_verbs(self) -> list[str]:
        """The verbs of this game that are none of the usual ones."""
        return sorted(
            verb for verb in self._rare_verbs if len(verb) >= _SHORTEST_WORD and verb.isalpha()
        )

    def known_part(self, name: str) -> str:
        """The words of a name that the game knows."""
        return " ".join(word for word in name.split() if self.knows(word))

    def nouns_in(self, text: str) -> list[str]:
        """The words of a text that may name a thing, each once."""
        found = dict.fromkeys(word.lower() for word in _WORD.findall(text))
        return [
            word
            for word in found
            if len(word) >= _SHORTEST_WORD
            and word not in DIRECTIONS
            and cut_word(word, self._codes) in self._nouns
        ]


@dataclass
class _Search:
    """One list in the making."""

    try_one: Trying
    memory: StoryMemory
    before: Bytes
    left: int
    outcomes: set[bytes | str] = field(default_factory=set)
    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._noise = np.zeros_like(self.before)

    def tried(self, command: str) -> Trial | None:
        """The trial of a command, or None when enough were tried."""
        if self.left <= 0:
            return None
        self.left -= 1
        return self.try_one(command)

    def ignore(self, trial: Trial) -> None:
        """Take what this command changed for what changes anyway."""
        self._noise |= self.memory.spread(trial.world ^ self.before)

    def keep_if_it_matters(self, command: str) -> None:
        """Add the command if it changes the world in a way that no other of the list does."""
        trial = self.tried(command)
        if trial is None:
            return
        changed = (trial.world ^ self.before) & ~self._noise
        outcome = trial.answer if trial.ended else changed.tobytes()
        if (trial.ended or changed.any()) and outcome not in self.outcomes:
            self.outcomes.add(outcome)
            self.found.append(command)


def valid_actions(
    try_one: Trying,
    memory: StoryMemory,
    before: Bytes,
    vocabulary: Vocabulary,
    surroundings: Surroundings,
    tries: int,
) -> tuple[str, ...]:
    """The commands found worth offering, sorted; `before` is the world as it is."""
    search = _Search(try_one, memory, before, tries)
    knows = vocabulary.knows
    for command in filter(knows, NULL_COMMANDS):
        trial = search.tried(command)
        if trial is not None:
            search.ignore(trial)
    names = _nameable(search, vocabulary, surroundings)
    held = {vocabulary.known_part(name) for name in surroundings.carried}
    carried = [name for name in names if name in held]
    go = "go " if knows("go") else ""
    for command in filter(knows, (*(go + way for way in DIRECTIONS), *ALONE)):
        search.keep_if_it_matters(command)
    for command in filter(knows, _with_things(names, carried)):
        search.keep_if_it_matters(command)
    offered = [*filter(knows, NULL_COMMANDS), *(f"examine {name}" for name in names)]
    for verb in filter(knows, TELLING):
        offered += _telling(search, verb, names)
    for verb in vocabulary.rare_verbs():
        for command in (verb, *(f"{verb} {name}" for name in names)):
            search.keep_if_it_matters(command)
    return tuple(sorted({*offered, *search.found}))


def _nameable(
    search: _Search, vocabulary: Vocabulary, surroundings: Surroundings
) -> dict[str, str]:
    """The names by which the game knows what is in sight, with what it says of each."""
    known: dict[str, str] = {}
    things = dict.fromkeys(vocabulary.known_part(name) for name in surroundings.things)
    words = vocabulary.nouns_in(surroundings.text)[:_MOST_WORDS]
    for name in filter(None, (*things, *words)):
        in_another = any(name in other.split() for other in known)
        if (in_another and name not in things) or len(known) >= _MOST_THINGS:
            continue
        trial = search.tried(f"examine {name}")
        if trial is None or refused(trial.answer):
            continue
        search.ignore(trial)
        # A word of the text with an answer that was given before is another word for that thing.
        if name in things or trial.answer not in known.values():
            known[name] = trial.answer
    return known


def _with_things(names: Iterable[str], carried: Iterable[str]) -> Iterator[str]:
    names, carried = list(names), list(carried)
    yield from (f"{verb} {name}" for verb in WITH_ONE for name in names)
    for pattern in WITH_CARRIED:
        for thing in carried:
            for other in names:
                if other != thing:
                    yield pattern.format(carried=thing, other=other)
    yield from (f"{verb} {name}" for verb in WITH_ONE_SELDOM for name in names)


def _telling(search: _Search, verb: str, names: dict[str, str]) -> list[str]:
    """The things to which the verb gives an answer of their own."""
    answers = {}
    for name in (*names, "me"):
        trial = search.tried(f"{verb} {name}")
        if trial is not None and not refused(trial.answer):
            answers[name] = _without(name, trial.answer)
    said = list(answers.values())
    return [
        f"{verb} {name}"
        for name, answer in answers.items()
        if name in names and said.count(answer) == 1 and answer != _without(name, names[name])
    ]


def _without(name: str, answer: str) -> str:
    """An answer with the thing's name left open, so that answers of one form are equal."""
    words = sorted(name.split(), key=len, reverse=True)
    return re.sub("|".join(rf"\b{re.escape(word)}\b" for word in words), "_", answer, flags=re.I)
