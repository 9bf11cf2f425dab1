"""Reading passages and exits from triplets, in the many ways that models write them.

The vocabulary is closed: a statement with any other word, such as `no`, `locked` or `may`, is not
taken for a passage or an exit.
"""

from __future__ import annotations

import re
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
_PASSABLE = _words("unexplored unblocked unguarded doorless")
_SIGNS = _WAYS | _LEADS | _PASSABLE | _words("of from above below beneath")
_ENDS = _words("is lies")

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_LEADING_TO = re.compile(r"(?:which |that )?(?:leading|leads|to|into)(?: to| into)? (.+)")
_ROOM_THEN_SIDE = re.compile(r"(.+?)(?:\((.+)|\b(?:to|on|in|at) the (.+))")
_COMPOUND = re.compile(r"\b(north|south)[\s-]+(east|west)\b")


@dataclass(frozen=True)
class SpatialStatement:
    """Going any of `directions` from `room` leads to `destination`; without one, or `is_exit`,
    `room` has an exit in each of `directions`, whatever the destination turns out to be.
    """

    room: str
    directions: tuple[str, ...]
    destination: str | None = None
    is_exit: bool = False


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


def may_be_spatial(triplet: Triplet) -> bool:
    """Whether a triplet has a word that every passage and exit has: quickly says no to most."""
    relation = _split(triplet.relation)
    if not _SIGNS.isdisjoint(relation) or (len(relation) > 1 and relation[-1] in _ENDS):
        return True
    return not _SIGNS.isdisjoint(_split(f"{triplet.subject} {triplet.object}"))


def read_spatial(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
    """The passage or exit that a triplet states, or None.

    `object_is_room` tells a room from a description where the wording alone does not; None: not
    known.
    """
    return (
        _read_side(triplet)
        or _read_exit(triplet, object_is_room)
        or _read_towards(triplet)
        or _read_leads(triplet, object_is_room)
        or _read_quality(triplet, object_is_room)
        or _read_exit_of(triplet, object_is_room)
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


def _read_exit(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
    """`room a, has exit, west`; `room a, leads to, west`; `room a, has, exit to the west`."""
    if object_is_room:
        return None
    relation, object_ = _phrase(triplet.relation), _phrase(triplet.object, abbreviated=True)
    if not set(relation.directions) <= {"in", "out"} or not object_.directions:
        return None
    words = relation.words | object_.words
    if not words & (_WAYS | _LEADS) or not words <= _DESCRIPTION:
        return None
    return SpatialStatement(triplet.subject, object_.directions)


def _read_towards(triplet: Triplet) -> SpatialStatement | None:
    """`room a, is connected to, room b on the west`; `room a, leads to, room b (west)`;
    `room a, has exit to the west, leading to room b`.
    """
    relation = _phrase(triplet.relation)
    if not relation.words & (_WAYS | _LEADS) or not relation.words <= _DESCRIPTION:
        return None
    compass = not set(relation.directions) <= {"in", "out"}
    if compass and (found := _LEADING_TO.fullmatch(triplet.object)):
        room = normalise(found[1])
        return SpatialStatement(triplet.subject, relation.directions, room, is_exit=True)
    found = _ROOM_THEN_SIDE.fullmatch(triplet.object)
    if compass or found is None:
        return None
    side, room = _phrase(found[2] or found[3]), normalise(found[1])
    is_side = bool(side.directions) and side.words <= _LINKS and not _phrase(room).directions
    if not is_side:
        return None
    return SpatialStatement(triplet.subject, side.directions, room, is_exit=True)


def _read_leads(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
    """`room a, leads west to, room b`; `room a, has exit west, open`; `room a, to the west is,
    room b`; `west exit of room a, leads to, room b`.
    """
    phrase, last = _phrase(triplet.relation), _split(triplet.relation)[-1:]
    if phrase.directions and phrase.words <= _COPULAS | _LINKS and _ENDS.issuperset(last):
        return SpatialStatement(triplet.subject, phrase.directions, triplet.object)
    if not phrase.words & (_WAYS | _LEADS) or not phrase.words <= _DESCRIPTION:
        return None
    if not phrase.directions:
        exit_ = _exit_of(triplet.subject)
        if exit_ is None or not phrase.words & _LEADS:
            return None
        return SpatialStatement(exit_.room, exit_.directions, triplet.object)
    is_room = last in (["to"], ["into"]) if object_is_room is None else object_is_room
    destination = triplet.object if is_room else None
    return SpatialStatement(triplet.subject, phrase.directions, destination)


def _read_quality(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
    """`room a, is unguarded, west`; `room a, unexplored, north`."""
    relation, object_ = _phrase(triplet.relation), _phrase(triplet.object)
    passable = relation.words & _PASSABLE and relation.words <= _PASSABLE | _COPULAS | _LINKS
    if object_is_room or not passable or relation.directions or not object_.directions:
        return None
    return SpatialStatement(triplet.subject, object_.directions) if not object_.words else None


def _read_exit_of(triplet: Triplet, object_is_room: bool | None) -> SpatialStatement | None:
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
    described = _phrase(triplet.object).words <= _QUALITIES
    if not described or (object_is_room is None and relation.directions):
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
