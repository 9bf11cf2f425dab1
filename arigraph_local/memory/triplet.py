"""Triplets: the semantic edges (object1, relation, object2) of the graph (paper section 2)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")
_EDGE_PUNCTUATION = " \t.,;:!?\"'`()[]"
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


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

    @property
    def is_whole(self) -> bool:
        """Whether no part is blank and it does not link an entity to itself."""
        parts = (self.subject, self.relation, self.object)
        return all(part.strip() for part in parts) and self.subject != self.object


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


def normalise_relation(relation: str) -> str:
    """The form in which relations are compared: as `normalise`, with the words of an identifier
    (`hasExit`, `west_of`) taken apart. Names are left whole: a game may well have a `key_1`.
    """
    words = _HUMP.sub(" ", unicodedata.normalize("NFKC", relation))
    return normalise(words.replace("_", " "))


def make_triplet(subject: str, relation: str, object_: str) -> Triplet | None:
    """A normalised triplet, or None if a part is empty or it links an entity to itself."""
    parts = (normalise(subject), normalise_relation(relation), normalise(object_))
    if not all(parts) or parts[0] == parts[2]:
        return None
    return Triplet(*parts)


def is_unicode(text: str) -> bool:
    """Whether `text` can be stored: JSON can smuggle in halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
