"""A decoder without a model: sequences are lists, the next token is a hash of what came before."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.llama.llama_decoder import Logits, Span, State

VOCABULARY = 64


def next_token(tokens: Sequence[int]) -> int:
    """What the fake model says after these tokens."""
    return zlib.crc32(np.asarray(tokens, dtype=np.int32).tobytes()) % VOCABULARY


class FakeDecoder:
    """Checks what llama.cpp would require, and computes in no time.

    A filler's token is taken like any other; `computed` leaves it out.

    `fails` is asked before each decode for a code; after one that is not 0, half of every span is
    left behind in its sequence, as llama.cpp may do.
    """

    def __init__(
        self,
        *,
        sequences: int = 4,
        batch_tokens: int = 16,
        whole_only: bool = False,
        fails: Callable[[Sequence[Span]], int] = lambda spans: 0,
    ) -> None:
        self.sequences = sequences
        self.context_tokens = 1 << 20
        self.batch_tokens = batch_tokens
        self.whole_only = whole_only
        self.fails = fails
        self.held: list[list[int]] = [[] for _ in range(sequences)]
        self.calls: list[list[Span]] = []
        self.saves = 0
        self.freed = False
        self._rows: list[int] = []

    @property
    def computed(self) -> int:
        """Tokens of all decode calls."""
        return sum(len(span.tokens) for call in self.calls for span in call if span.tokens != (0,))

    def decode(self, spans: Sequence[Span]) -> int:
        sequences = [span.sequence for span in spans]
        assert sequences == sorted(set(sequences))
        assert 0 < sum(len(span.tokens) for span in spans) <= self.batch_tokens
        self.calls.append(list(spans))
        code = self.fails(spans)
        self._rows = []
        for span in spans:
            assert span.tokens
            assert len(self.held[span.sequence]) == span.start
            done = len(span.tokens) // 2 if code else len(span.tokens)
            self.held[span.sequence] += span.tokens[:done]
            if span.wants_logits and not code:
                self._rows.append(next_token(self.held[span.sequence]))
        return code

    def logits(self) -> Logits:
        return np.eye(VOCABULARY, dtype=np.float32)[self._rows]

    def remove(self, sequence: int, start: int = 0) -> bool:
        if self.whole_only and 0 < start < len(self.held[sequence]):
            return False
        del self.held[sequence][start:]
        return True

    def save(self, sequence: int) -> State:
        self.saves += 1
        return np.asarray(self.held[sequence], dtype=np.int32).view(np.uint8)

    def restore(self, sequence: int, state: State) -> bool:
        self.held[sequence] = state.view(np.int32).tolist()
        return True

    def failure(self, code: int) -> ArigraphError:
        return ArigraphError(f"fake fails to compute (code {code})")

    def free(self) -> None:
        self.freed = True
