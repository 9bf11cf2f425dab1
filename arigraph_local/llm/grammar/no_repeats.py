"""No item of a list twice in one reply.

A small model that has run out of things to say repeats itself. A grammar cannot forbid that, but
what follows the grammar can: the token that would complete an item written before is refused, and
so is one after which nothing else could be written. Items are the arrays inside the outermost
array of a JSON reply. Where nothing but a repeat is left, it is let through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arigraph_local.llm.grammar.constraint import Constraint

_QUOTE, _ESCAPE, _OPEN, _CLOSE = b'"\\[]'
_ITEM_DEPTH = 2
_AHEAD = 2
"""Choices that are looked ahead for a way around a repeat."""
_NEAR = 24
"""Bytes to the end of a repeat from which on that is done; further away there are many ways."""
_FEW = 64
"""Where more tokens than these may follow, one of them leads on."""


class Vocabulary:
    """The bytes of every token of a tokenizer, and where to find some of them."""

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer` is an `llguidance.LLTokenizer`; it is read at the first use."""
        self._tokenizer = tokenizer

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of each token."""
        size = int(self._tokenizer.vocab_size)
        return [bytes(self._tokenizer.decode_bytes([token])) for token in range(size)]

    @cached_property
    def tokens(self) -> dict[bytes, list[int]]:
        """The tokens that spell exactly these bytes."""
        found: dict[bytes, list[int]] = {}
        for token, piece in enumerate(self.pieces):
            found.setdefault(piece, []).append(token)
        return found

    @cached_property
    def closing(self) -> npt.NDArray[np.intp]:
        """Tokens with a closing bracket in them."""
        return np.array([t for t, p in enumerate(self.pieces) if _CLOSE in p], dtype=np.intp)

    @cached_property
    def unquoting(self) -> npt.NDArray[np.intp]:
        """Those of `closing` that can close a bracket from within a string: with a quote too."""
        pieces = self.pieces
        return np.array([t for t in self.closing if _QUOTE in pieces[t]], dtype=np.intp)


@dataclass
class _Place:
    """Where in a JSON text a reply stands; `item` is the text of the item begun, if one is."""

    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    item: bytes | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The items that these bytes complete."""
        for byte in data:
            if self.item is not None:
                self.item += bytes((byte,))
            if self.in_string:
                self.in_string = self.escaped or byte != _QUOTE
                self.escaped = not self.escaped and byte == _ESCAPE
            elif byte == _QUOTE:
                self.in_string = True
            elif byte == _OPEN:
                self.depth += 1
                if self.depth == _ITEM_DEPTH:
                    self.item = b"["
            elif byte == _CLOSE:
                if self.depth == _ITEM_DEPTH and self.item is not None:
                    yield self.item
                    self.item = None
                self.depth -= 1


class NoRepeats(Constraint):
    """A constraint that refuses what leads to an item written before."""

    def __init__(
        self, matcher: Any, ends: frozenset[int], vocab_size: int, vocabulary: Vocabulary
    ) -> None:
        super().__init__(matcher, ends, vocab_size)
        self._vocabulary = vocabulary
        self._place = _Place()
        self._items: frozenset[bytes] = frozenset()
        self._lenient = False

    def try_consume(self, token: int) -> bool:
        """As a constraint does; also refuses a token that leads to nothing but a repeat."""
        if not super().try_consume(token):
            return False
        piece = self._vocabulary.pieces[token]
        watched = not self._lenient and self._is_suspect(self._place, piece)
        if watched and self._repeats(self._place, piece, _AHEAD):
            self._matcher.rollback(1)
            return False
        for item in self._place.feed(piece):
            self._items |= {item}
            self._lenient = False
        return True

    def allowed(self) -> npt.NDArray[np.bool_]:
        """As a constraint does, less what leads to a repeat, unless nothing else is left."""
        mask = super().allowed()
        if not self._items or self._lenient:
            return mask
        strict = mask.copy()
        for token in self._suspects():
            if mask[token] and super().try_consume(token):
                piece = self._vocabulary.pieces[token]
                strict[token] = not self._repeats(self._place, piece, _AHEAD)
                self._matcher.rollback(1)
        if strict.any():
            return strict
        self._lenient = True
        return mask

    def _suspects(self) -> list[int]:
        """The tokens for which `_is_suspect` may hold here."""
        vocabulary, item = self._vocabulary, self._place.item
        closing = vocabulary.unquoting if self._place.in_string else vocabulary.closing
        found = [int(token) for token in closing]
        if item is not None:
            rests = [known[len(item) :] for known in self._items if known.startswith(item)]
            paths = {rest[:length] for rest in rests for length in range(1, len(rest) + 1)}
            found += [token for path in paths for token in vocabulary.tokens.get(path, ())]
        return found

    def _is_suspect(self, place: _Place, piece: bytes) -> bool:
        """Whether a token can complete an item, or goes on along one written before."""
        if not self._items:
            return False
        if _CLOSE in piece and (_QUOTE in piece or not place.in_string):
            return True
        item = place.item
        return item is not None and any(known.startswith(item + piece) for known in self._items)

    def _repeats(self, before: _Place, piece: bytes, ahead: int) -> bool:
        """Whether a token just matched completes a repeat, or leaves no way around one."""
        place, known = replace(before), set(self._items)
        for item in place.feed(piece):
            if item in known:
                return True
            known.add(item)
        begun = place.item
        if begun is None:
            return False
        rests = [len(item) - len(begun) for item in known if item.startswith(begun)]
        if not rests:
            return False
        forced = bytes(self._matcher.compute_ff_bytes())
        if (ended := next(replace(place).feed(forced), None)) is not None:
            return ended in known
        return ahead > 0 and min(rests) <= _NEAR and not self._has_way_out(place, ahead - 1)

    def _has_way_out(self, before: _Place, ahead: int) -> bool:
        """Whether some token can follow that leads to no repeat, after what is forced."""
        place, taken = replace(before), 0
        for token in self.forced():
            if not super().try_consume(token):
                break
            taken += 1
            list(place.feed(self._vocabulary.pieces[token]))
        tokens = np.flatnonzero(super().allowed())
        free = len(tokens) > _FEW or any(self._leads_on(int(t), place, ahead) for t in tokens)
        if taken:
            self._matcher.rollback(taken)
        return free

    def _leads_on(self, token: int, place: _Place, ahead: int) -> bool:
        """Whether an allowed token ends the reply or leads to no repeat."""
        piece = self._vocabulary.pieces[token]
        if token in self._ends or not self._is_suspect(place, piece):
            return True
        if not super().try_consume(token):
            return False
        leads_on = not self._repeats(place, piece, ahead)
        self._matcher.rollback(1)
        return leads_on
