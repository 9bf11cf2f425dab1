"""Reading passages and exits from triplets, in the many ways that models write them.

The vocabulary is closed: a statement with any other word, such as `no`, `locked` or `may`, is not
taken for a passage or an exit.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from arigraph_local.memory.triplet import Triplet, normalise

DIRECTIONS = {
    "north": "south",
    "northeast": "southwest",
    "east": "west",
    "southeast": "northwest",
    "south": "north",
    "southwest": "northeast",
    "west": "east",
    "northwest": "southeast",
    "up": "down",
    "down": "up",
    "in": "out",
    "out": "in",
}
"""Each direction with its opposite, in compass order."""

_ABBREVIATIONS = {
    "n": "north",
    "ne": "northeast",
    "e": "east",
    "se": "southeast",
    "s": "south",
    "sw": "southwest",
    "w": "west",
    "nw": "northwest",
    "u": "up",
    "d": "down",
}
_VERTICAL = {
    "above": "up",
    "upward": "up",
    "upwards": "up",
    "upstairs": "up",
    "below": "down",
    "beneath": "down",
    "downward": "down",
    "downwards": "down",
    "downstairs": "down",
}
_INWARD = {"in": "in", "inside": "in", "inward": "in", "out": "out", "outside": "out"}
_SUFFIXES = ("erly", "ern", "wards", "ward")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COPULAS = _words("is are lies lie sits stands located situated found")
_LINKS = _words("to the a an on in at and or directly immediately just side")
_WAYS = _words(
    "exit exits entrance entrances entranceway entranceways passage passages passageway doorway "
    "doorways door doors opening openings way ways path paths stairs staircase"
)
_OWNERSHIP = _words("has have contains with offers there of")
_QUALITIES = _words(
    "unexplored unblocked unguarded open opened closed visible available possible another "
    "known new wooden doorless heading going leading facing towards toward from"
)
_LEADS = _words("leads lead leading goes go connects connected connect opens continues")
_DESCRIPTION = _WAYS | _LEADS | _OWNERSHIP | _QUALITIES | _LINKS | _COPULAS
_BELONGS = _words("is are a an the in of at from located")

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_COMPOUND = re.compile(r"\b(north|south)[\s-]+(east|west)\b")


@dataclass(frozen=True)
class SpatialStatement:
    """Going any of `directions` from `room` leads to `destination`; without one, `room` has an
    exit in each of `directions`.
    """

    room: str
    directions: tuple[str, ...]
    destination: str | None = None


@dataclass(frozen=True)
class _Phrase:
    """The directions in a phrase and its other words."""

    directions: tuple[str, ...]
    words: frozenset[str]


def direction_of(text: str) -> str | None:
    """The canonical direction that a word or a move (`go west`, `n`, `north-east`) names."""
    words = _split(normalise(text))
    if words and words[0] in {"go", "walk", "move", "head"}:
        words = words[1:]
    return _direction(words[0], abbreviated=True) if len(words) == 1 else None


def read_spatial(triplet: Triplet, rooms: Collection[str] | None) -> SpatialStatement | None:
    """The passage or exit that a triplet states, or None.

    `rooms` tells names of rooms from descriptions where the wording alone does not.
    """
    return (
        _read_side(triplet)
        or _read_exit(triplet, rooms)
        or _read_leads(triplet, rooms)
        or _read_exit_of(triplet, rooms)
    )


def _read_side(triplet: Triplet) -> SpatialStatement | None:
    """`room b, is west of, room a`; `room b, to the north-west of, room a`."""
    phrase = _phrase(triplet.relation)
    ends = _split(triplet.relation)[-1:]
    fixed = ends in (["of"], ["from"], ["above"], ["below"], ["beneath"])
    allowed = _COPULAS | _LINKS | {"of", "from"}
    if len(phrase.directions) != 1 or not fixed or not phrase.words <= allowed:
        return None
    return SpatialStatement(triplet.object, phrase.directions, triplet.subject)


def _read_exit(triplet: Triplet, rooms: Collection[str] | None) -> SpatialStatement | None:
    """`room a, has exit, west`; `room a, leads to, west`; `room a, has, exit to the west`."""
    if rooms is not None and triplet.object in rooms:
        return None
    relation, object_ = _phrase(triplet.relation), _phrase(triplet.object, abbreviated=True)
    if not set(relation.directions) <= {"in", "out"} or not object_.directions:
        return None
    words = relation.words | object_.words
    if not words & (_WAYS | _LEADS) or not words <= _DESCRIPTION:
        return None
    return SpatialStatement(triplet.subject, object_.directions)


def _read_leads(triplet: Triplet, rooms: Collection[str] | None) -> SpatialStatement | None:
    """`room a, leads west to, room b`; `room a, has exit west, open`;
    `west exit of room a, leads to, room b`.
    """
    phrase = _phrase(triplet.relation)
    if not phrase.words & (_WAYS | _LEADS) or not phrase.words <= _DESCRIPTION:
        return None
    if not phrase.directions:
        exit_ = _exit_of(triplet.subject)
        if exit_ is None or not phrase.words & _LEADS:
            return None
        return SpatialStatement(exit_.room, exit_.directions, triplet.object)
    if rooms is None:
        is_room = _split(triplet.relation)[-1] in {"to", "into"}
    else:
        is_room = triplet.object in rooms
    destination = triplet.object if is_room else None
    return SpatialStatement(triplet.subject, phrase.directions, destination)


def _read_exit_of(triplet: Triplet, rooms: Collection[str] | None) -> SpatialStatement | None:
    """`west exit, is in, room a`; `west exit of room a, is, unblocked`."""
    subject = _phrase(triplet.subject)
    relation = _phrase(triplet.relation)
    if subject.directions and subject.words <= _WAYS | _QUALITIES | _LINKS:
        words = frozenset(_split(triplet.relation))
        belongs = words <= _BELONGS | _WAYS and words & {"in", "of", "at", "from"}
        if subject.words & _WAYS and belongs:
            return SpatialStatement(triplet.object, subject.directions)
        return None
    exit_ = _exit_of(triplet.subject)
    if exit_ is None or not relation.words <= _COPULAS:
        return None
    if not _phrase(triplet.object).words <= _QUALITIES or (rooms is None and relation.directions):
        return None
    return exit_


def _exit_of(subject: str) -> SpatialStatement | None:
    """`west exit of room a` as an exit of room a."""
    for joint in (" of ", " from ", " in "):
        left, found, room = subject.partition(joint)
        phrase = _phrase(left)
        ways = phrase.words & _WAYS and phrase.words <= _WAYS | _QUALITIES | _LINKS
        if found and phrase.directions and ways:
            return SpatialStatement(normalise(room), phrase.directions)
    return None


def _phrase(text: str, *, abbreviated: bool = False) -> _Phrase:
    words = _split(text)
    named = [_direction(word, abbreviated=abbreviated) for word in words]
    compass = [way for way in named if way is not None and way not in {"in", "out"}]
    # `exit in the west`: beside a compass direction, `in` is only a preposition.
    directions = compass or [way for way in named if way is not None]
    others = [word for word, way in zip(words, named, strict=True) if way not in directions]
    return _Phrase(tuple(dict.fromkeys(directions)), frozenset(others))


def _direction(word: str, *, abbreviated: bool) -> str | None:
    if word in DIRECTIONS:
        return word
    if abbreviated and word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    if word in _VERTICAL:
        return _VERTICAL[word]
    if word in _INWARD:
        return _INWARD[word]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and word.removesuffix(suffix) in DIRECTIONS:
            return word.removesuffix(suffix)
    return None


def _split(text: str) -> list[str]:
    return _WORD.findall(_COMPOUND.sub(r"\1\2", text))
