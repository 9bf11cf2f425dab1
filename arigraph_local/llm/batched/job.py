"""One request on its way through the throughput engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from arigraph_local.llm.batched.lanes import Lane
from arigraph_local.llm.batched.prefix_store import Tokens, as_tokens
from arigraph_local.llm.engine import StopReason
from arigraph_local.llm.llama.llama_decoder import Logits


class GrowingReply(Protocol):
    """What the scheduler needs of a reply: see `Reply`."""

    @property
    def stop(self) -> StopReason | None: ...
    @property
    def greedy(self) -> bool: ...
    def begin(self) -> Sequence[int]: ...
    def extend(self, logits: Logits, best: int | None = None) -> Sequence[int]: ...


class Job:
    """One request on its way."""

    def __init__(
        self,
        prompt: Sequence[int],
        start: Callable[[], GrowingReply],
        *,
        snapshot_at: int = 0,
    ) -> None:
        """`start` makes the reply when the request's turn has come, because its time runs then.

        `snapshot_at` is how much of the prompt later requests may share, where a model's memory
        has to be kept at that very token.
        """
        self.prompt: Tokens = as_tokens(prompt)
        self.snapshot_at = snapshot_at
        self.tokens = [int(token) for token in prompt]
        """Prompt and reply as far as known; the lane holds the first `held` of them."""
        self.start = start
        self.reply: GrowingReply | None = None
        self.lane: Lane | None = None
        self.reused = 0
        self.alone = False
        """Computed by itself, because a batch that it was part of failed."""
        self.started_over = False

    def cancelled(self) -> bool:
        """Whether nobody waits for the reply any more."""
        return False

    def finish(self) -> None:
        """Called once, when the reply has stopped."""

    def fail(self, error: BaseException) -> None:
        """Called when the reply cannot be had; after the first time, without effect."""

    @property
    def held(self) -> int:
        """Tokens that are computed."""
        return self.lane.held if self.lane is not None else 0

    @property
    def in_prompt(self) -> bool:
        """Whether part of the prompt is still to be computed."""
        return self.held < self.prompt.size
