"""BM25 over fact texts, kept up to date fact by fact (Robertson & Zaragoza 2009)."""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from arigraph_local.memory.graph.store import Fact

_WORD = re.compile(r"\w+")
_K1 = 1.5
_B = 0.75


def words_of(text: str) -> list[str]:
    """The words of a text in order, folded as names of the graph are."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


class _Postings:
    """The rows of the facts that have one word, and how often each has it."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.counts = array("q")
        self.searchable = 0

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        # Copies: an array that lends its memory to numpy cannot grow.
        return np.array(self.rows, dtype=np.int64), np.array(self.counts, dtype=np.int64)


class BM25:
    """Searchable facts by their words: idf · tf (k1 + 1) / (tf + k1 (1 - b + b length / mean)).

    k1 = 1.5, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. N, n and
    the mean length are those of the searchable facts. Each distinct word of a query counts once;
    a fact's terms are added in the order of the query's words, so that a score depends on
    the facts and the query alone, to the bit.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._rows: dict[int, int] = {}
        self._words: list[Counter[str]] = []
        self._postings: dict[str, _Postings] = {}
        self._lengths: npt.NDArray[np.float64] = np.zeros(0)
        self._searchable: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._count = 0
        self._total_length = 0

    def add(self, facts: Iterable[Fact]) -> None:
        """Make facts searchable, or searchable again."""
        for fact in facts:
            row = self._rows.get(fact.id)
            if row is None:
                row = self._append(fact)
            if not self._searchable[row]:
                self._turn(row, True)

    def retire(self, facts: Iterable[Fact]) -> None:
        """Make facts unsearchable."""
        for fact in facts:
            row = self._rows.get(fact.id)
            if row is not None and self._searchable[row]:
                self._turn(row, False)

    def top(self, text: str, width: int) -> list[tuple[int, float]]:
        """The `width` best facts that share a word with `text`: (fact id, score), by score
        descending, then fact id ascending."""
        scores = np.zeros(len(self._ids))
        for word in dict.fromkeys(words_of(text)):
            postings = self._postings.get(word)
            if postings is not None and postings.searchable:
                self._score(postings, scores)
        scores[~self._searchable[: len(scores)]] = 0.0
        rows = np.flatnonzero(scores > 0)
        if width <= 0 or not len(rows):
            return []
        if len(rows) > width:
            least = np.partition(scores[rows], len(rows) - width)[len(rows) - width]
            rows = rows[scores[rows] >= least]
        best = sorted((-float(scores[row]), self._ids[row]) for row in rows)[:width]
        return [(fact_id, -negated) for negated, fact_id in best]

    def _score(self, postings: _Postings, scores: npt.NDArray[np.float64]) -> None:
        rows, counts = postings.arrays()
        holding = postings.searchable
        idf = math.log1p((self._count - holding + 0.5) / (holding + 0.5))
        relative = self._lengths[rows] / (self._total_length / self._count)
        scores[rows] += idf * counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * relative))

    def _append(self, fact: Fact) -> int:
        row = len(self._ids)
        words = Counter(words_of(str(fact.triplet)))
        if row == len(self._lengths):
            more = max(64, row)
            self._lengths = np.concatenate([self._lengths, np.zeros(more)])
            self._searchable = np.concatenate([self._searchable, np.zeros(more, dtype=np.bool_)])
        self._ids.append(fact.id)
        self._rows[fact.id] = row
        self._words.append(words)
        self._lengths[row] = words.total()
        for word, count in words.items():
            postings = self._postings.setdefault(word, _Postings())
            postings.rows.append(row)
            postings.counts.append(count)
        return row

    def _turn(self, row: int, searchable: bool) -> None:
        change = 1 if searchable else -1
        self._searchable[row] = searchable
        self._count += change
        self._total_length += change * int(self._lengths[row])
        for word in self._words[row]:
            self._postings[word].searchable += change
