"""Which names of the graph an observation mentions."""

from __future__ import annotations

import re
from collections.abc import Callable

_WORD = re.compile(r"\w+")
_LONGEST = 8
_SHORTEST = 3


def mentioned_names(observation: str, knows: Callable[[str], bool], limit: int) -> list[str]:
    """At most `limit` known names that the observation mentions as whole words, the longest first.

    `knows` says whether a text is a name. Each span of up to 8 words is put to it, so that the
    cost depends on the observation alone; a name of fewer than 3 letters mentions nothing.
    """
    text = " ".join(observation.lower().split())
    words = [match.span() for match in _WORD.finditer(text)]
    spans = {
        text[start:end]
        for first, (start, _) in enumerate(words)
        for _, end in words[first : first + _LONGEST]
        if end - start >= _SHORTEST
    }
    found = [name for name in spans if knows(name)]
    return sorted(found, key=lambda name: (-len(name), name))[:limit]
