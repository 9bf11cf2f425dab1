"""Which statements exclude each other: the structural guard on retiring facts.

A thing has one place at a time and one state of each kind at a time. Two triplets compete when
they give the same thing two values of the same kind. Everything else can be true together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from arigraph_local.memory.triplet import Triplet

_PLACE = re.compile(
    r"(?:(?:is|are|was|lies|sits|stands|rests|hangs|stays)\s+)?(?:now\s+)?"
    r"(?:(?:located|placed|kept|stored|lying|hidden|found|sitting|carried|held)\s+)?"
    r"(?:in|on|at|inside|within|under|by|in side|on top of|inside of|located in)"
)
_CONTAINER = re.compile(r"(?:now\s+)?(?:contains|holds|hold|contain|has item|includes|carries)")
_COPULA = re.compile(r"(?:is|are|was|is now|has state|state|state is|has status|status)")
_STATES = (
    frozenset({"open", "opened", "closed", "shut", "locked", "unlocked"}),
    frozenset({"raw", "uncooked", "cooked", "fried", "roasted", "grilled", "burned", "burnt"}),
    frozenset({"uncut", "chopped", "sliced", "diced"}),
    frozenset({"empty", "full"}),
)


@dataclass(frozen=True)
class _Value:
    kind: str
    thing: str
    value: str


# An entity of many facts has each of them compared at every step.
@lru_cache(maxsize=1 << 16)
def _value(triplet: Triplet) -> _Value | None:
    if _PLACE.fullmatch(triplet.relation):
        return _Value("place", triplet.subject, triplet.object)
    if _CONTAINER.fullmatch(triplet.relation):
        return _Value("place", triplet.object, triplet.subject)
    if _COPULA.fullmatch(triplet.relation):
        for number, states in enumerate(_STATES):
            if triplet.object in states:
                return _Value(f"state {number}", triplet.subject, triplet.object)
    return None


def excludes(new: Triplet, old: Triplet) -> bool:
    """Whether `new` gives the thing of `old` another place, or another state of the same kind."""
    ours, theirs = _value(new), _value(old)
    if ours is None or theirs is None:
        return False
    same_thing = (ours.kind, ours.thing) == (theirs.kind, theirs.thing)
    return same_thing and ours.value != theirs.value
