"""Whether two names may be two spellings of one, said without a model: strictly on purpose.

Most pairs of names in a text game that look alike are different things: `key 1` and `key 2`,
`locker a` and `locker b`, `red key` and `reed key`, `north exit` and `northwest exit`, `cooked
egg` and `uncooked egg`. A wrong merge corrupts the memory, a missed one only repeats a name. So
names are aligned word by word, and a word may differ from its counterpart by its spelling alone.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

from arigraph_local.memory.spatial.directions import direction_of

_LONGEST = 80
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|(?:(?<!\w)-)?\d+(?:[.,:/]\d+)*|[^\w\s'’.,;:#-]")
_SHORTEST_WORD = 4


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EMPTY = _set("my your his her its our their this that these those some the")
_NUMBERS = _set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred thousand first second third fourth fifth sixth seventh eighth ninth tenth "
    "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth "
    "nineteenth twentieth single double triple"
)
_COLOURS = _set(
    "red green blue yellow orange purple violet pink brown black white grey gray cyan magenta "
    "golden gold silver bronze copper brass beige azure emerald scarlet crimson maroon navy teal "
    "turquoise indigo lavender ivory olive amber ruby sapphire"
)
_STATES = _set(
    "open opened closed shut locked unlocked raw cooked uncooked fried roasted grilled burned "
    "burnt chopped sliced diced uncut empty full hot cold wet dry clean dirty"
)
_SIDES = _set("left right upper lower top bottom front back inner outer large small")
_FIXED = _NUMBERS | _COLOURS | _STATES | _SIDES


@lru_cache(maxsize=1 << 16)
def words_of(name: str) -> tuple[str, ...]:
    """The words and numbers of a normalised name, without possessives. `locker a` keeps its `a`:
    a leading article is gone, and this is a letter.
    """
    tokens = [token.replace("'", "").replace("’", "") for token in _TOKEN.findall(name)]
    return tuple(token for token in tokens if token not in _EMPTY) or tuple(tokens)


def spelling_keys(name: str) -> tuple[tuple[str, ...], ...]:
    """What two names that `spelling_ratio` may accept have in common: one of these keys.

    Empty for a name that is never merged, as one that is longer than any name of a thing.
    """
    words = words_of(name)
    if not words or len(name) > _LONGEST:
        return ()
    initials = tuple(word if _is_fixed(word) else f"{word[0]}…" for word in words)
    return (("joined", _joined(words)), ("initials", *initials))


def spelling_ratio(one: str, other: str, least: float = 0.0) -> float:
    """How alike two normalised names are spelt: 0 to 1, and 0 if they may not be one name or are
    less alike than `least`, which is found out sooner.

    The ratio is difflib's, 2·M / T with M the characters of matching blocks and T all characters,
    of the names without spaces and signs, so that `night-stand` is `nightstand`. It is the least
    of the whole and of each word with its counterpart, because in a long name one wrong word
    weighs little (`golden locker`, `golden locket`). Numbers, directions, colours, states and
    words of fewer than 4 letters must be equal, and a word must begin with the same letter:
    another initial makes another word (`cooked`, `uncooked`; `table`, `cable`).
    """
    ours, theirs = words_of(one), words_of(other)
    if ours and _joined(ours) == _joined(theirs):
        return 1.0
    if len(ours) != len(theirs) or not ours:
        return 0.0
    ratio = 1.0
    for word, counterpart in zip(ours, theirs, strict=True):
        if word != counterpart:
            if word[0] != counterpart[0] or _is_fixed(word) or _is_fixed(counterpart):
                return 0.0
            ratio = min(ratio, _ratio(word, counterpart, least))
            if ratio < least:
                return 0.0
    whole = _ratio("".join(ours), "".join(theirs), least)
    return min(ratio, whole) if whole >= least else 0.0


def _joined(words: tuple[str, ...]) -> str:
    """The words written as one, numbers and single letters apart: `box ab` is not `box a b`."""
    return "".join(word if word.isalpha() and len(word) > 1 else f"|{word}|" for word in words)


@lru_cache(maxsize=1 << 14)
def _is_fixed(word: str) -> bool:
    fixed = word in _FIXED or not word.isalpha() or direction_of(word) is not None
    return fixed or len(word) < _SHORTEST_WORD


def _ratio(one: str, other: str, least: float) -> float:
    """difflib's ratio; 0 where a bound on M that costs less says that it is below `least`."""
    ours, theirs = set(one), set(other)
    matching = min(len(one) - len(ours - theirs), len(other) - len(theirs - ours))
    if 2 * matching < least * (len(one) + len(other)):
        return 0.0
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
