"""Small pieces of English: articles, numbers, lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ARTICLE = re.compile(r"^(?:an?|the) ", re.IGNORECASE)
_HAS_ARTICLE = re.compile(r"^(?:an?|the|your|some|\d+) ", re.IGNORECASE)
_REMARK = re.compile(r" \([^)]*\)$")


def a(name: str) -> str:
    """The name with `a` or `an`, unless it is a proper name or has one."""
    if not name or _HAS_ARTICLE.match(name) or name[0].isupper():
        return name
    # By sound, near enough: `a unicorn`, `a uruk-hai`, but `an umber hulk`.
    vowel = name[0] in "aeio" or (name[0] == "u" and not name.startswith(("uni", "uru", "use")))
    return f"{'an' if vowel else 'a'} {name}"


def counted(number: int, noun: str) -> str:
    """`1 square`, `2 squares`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """`a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def plain(name: str) -> str:
    """What a thing is called in a command: without article and remarks in brackets."""
    while name != (shorter := _REMARK.sub("", name)):
        name = shorter
    return _ARTICLE.sub("", name).strip()


def sentence(clause: str) -> str:
    """The clause with a capital and a full stop."""
    clause = clause.strip()
    if not clause:
        return ""
    return clause[0].upper() + clause[1:] + ("" if clause[-1] in ".!?" else ".")
