"""Where one reply stands in its grammar."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError


class Constraint:
    """Where one reply stands in its grammar.

    Tokens are ids of the vocabulary the `TokenGrammars` was made for. Ids that end a turn are
    allowed exactly where the text so far is complete; they are never consumed.
    """

    def __init__(self, matcher: Any, ends: frozenset[int], vocab_size: int) -> None:
        self._matcher = matcher
        self._ends = ends
        self._vocab_size = vocab_size

    def try_consume(self, token: int) -> bool:
        """Take `token` if the grammar allows it here; otherwise change nothing."""
        if token in self._ends:
            return False
        return bool(self._matcher.try_consume_tokens([token]) == 1)

    def allowed(self) -> npt.NDArray[np.bool_]:
        """For each id of the vocabulary, whether it may come next; shape (vocabulary,).

        Raises `ArigraphError` when the grammar has grown too complex to follow.
        """
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        if self._matcher.is_error():
            raise ArigraphError(f"grammar: {first_line(self._matcher.get_error())}")
        mask = np.unpackbits(packed, bitorder="little")[: self._vocab_size].astype(np.bool_)
        if mask.size < self._vocab_size:
            mask = np.pad(mask, (0, self._vocab_size - mask.size))
        mask[list(self._ends)] = self.accepting
        return mask

    def forced(self) -> list[int]:
        """Tokens that must come next whatever the model prefers; often none."""
        return [int(token) for token in self._matcher.compute_ff_tokens()]

    @property
    def accepting(self) -> bool:
        """Whether the text so far is complete; more may still be allowed."""
        return bool(self._matcher.is_accepting())

    @property
    def finished(self) -> bool:
        """Whether the text so far is complete and nothing can follow."""
        return bool(self._matcher.is_stopped() and not self._matcher.is_error())


def first_line(message: str) -> str:
    """The first line of an error of llguidance, whose messages go on with the whole grammar."""
    return message.strip().splitlines()[0] if message.strip() else "unknown error"
