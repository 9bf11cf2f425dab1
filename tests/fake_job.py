"""A job for `FakeDecoder` whose reply is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fake_decoder import next_token

from arigraph_local.llm.batched.job import Job
from arigraph_local.llm.engine import StopReason
from arigraph_local.llm.llama.llama_decoder import Logits


class FakeReply:
    """Takes `length` tokens; after every third choice two more are forced."""

    def __init__(self, length: int, *, greedy: bool, opening: Sequence[int] = ()) -> None:
        self.greedy = greedy
        self.tokens: list[int] = []
        self.stop = None if length else StopReason.MAX_TOKENS
        self._length = length
        self._choices = 0
        self._opening = opening

    def begin(self) -> list[int]:
        return self._take([*self._opening])

    def extend(self, logits: Logits, best: int | None = None) -> list[int]:
        assert (best is not None) == self.greedy
        chosen = int(np.argmax(logits))
        assert best in (None, chosen)
        self._choices += 1
        return self._take([chosen, 1, 2] if self._choices % 3 == 0 else [chosen])

    def _take(self, tokens: list[int]) -> list[int]:
        self.tokens += tokens
        if len(self.tokens) >= self._length:
            self.stop = StopReason.MAX_TOKENS
        return tokens


class FakeJob(Job):
    """Remembers how it ended."""

    def __init__(
        self,
        prompt: Sequence[int],
        length: int = 4,
        *,
        greedy: bool = True,
        opening: Sequence[int] = (),
        snapshot_at: int = 0,
    ) -> None:
        self.made = FakeReply(length, greedy=greedy, opening=opening)
        super().__init__(prompt, lambda: self.made, snapshot_at=snapshot_at)
        self.ends = 0
        self.error: BaseException | None = None
        self.given_up = False

    def cancelled(self) -> bool:
        return self.given_up

    def finish(self) -> None:
        self.ends += 1

    def fail(self, error: BaseException) -> None:
        self.ends += 1
        self.error = error

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self.ends > 0

    def expected(self) -> list[int]:
        """The reply it would get alone."""
        reply = FakeReply(self.made._length, greedy=False, opening=self.made._opening)
        tokens = [*self.prompt.tolist(), *reply.begin()]
        while reply.stop is None:
            logits = np.zeros(64, dtype=np.float32)
            logits[next_token(tokens)] = 1
            tokens += reply.extend(logits)
        return reply.tokens
