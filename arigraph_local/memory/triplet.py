"""Triplets: the semantic edges (object1, relation, object2) of the graph (paper section 2)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")
_EDGE_PUNCTUATION = " \t.,;:!?\"'`()[]"


@dataclass(frozen=True, order=True)
class Triplet:
    """A statement `subject, relation, object`, each part normalised by `normalise`."""

    subject: str
    relation: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject}, {self.relation}, {self.object}"

    @property
    def entities(self) -> tuple[str, str]:
        """The two vertices the edge is incident to."""
        return (self.subject, self.object)


def normalise(name: str) -> str:
    """The form in which names are compared: NFKC, lower-case, single spaces, no leading article,
    no punctuation or quotes at the ends. Numbers are kept, so `key 1` and `key 2` stay apart.
    """
    text, before = name, None
    while text != before:
        before = text
        text = unicodedata.normalize("NFKC", text).lower()
        text = " ".join(text.split()).strip(_EDGE_PUNCTUATION)
        text = _ARTICLE.sub("", text)
    return text


def make_triplet(subject: str, relation: str, object_: str) -> Triplet | None:
    """A normalised triplet, or None if a part is empty or it links an entity to itself."""
    parts = (normalise(subject), normalise(relation), normalise(object_))
    if not all(parts) or parts[0] == parts[2]:
        return None
    return Triplet(*parts)
