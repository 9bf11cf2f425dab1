"""What the throughput engine is asked, and whoever waits for it: one job, or one for each option.

Options are computed side by side, as replies that are known beforehand: they share the prompt as
any requests do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from arigraph_local.llm.batched.job import GrowingReply, Job
from arigraph_local.llm.engine import Completion, Likelihood, Request, StopReason, TokenCounts
from arigraph_local.llm.llama.chunks import Chunk
from arigraph_local.llm.llama.llama_decoder import Logits
from arigraph_local.llm.llama.loaded_model import LoadedModel
from arigraph_local.llm.llama.options import likeliest, log_probabilities
from arigraph_local.llm.llama.reply import Reply


class GivenReply:
    """A reply that is given; it grows to learn how likely it is."""

    greedy = False

    def __init__(self, tokens: Chunk) -> None:
        self.stop: StopReason | None = None
        self._tokens = tokens
        self._seen = 0
        self._sum = 0.0

    @property
    def likelihood(self) -> Likelihood:
        """That of the tokens so far."""
        return Likelihood(self._sum, self._seen)

    def begin(self) -> Sequence[int]:
        """Nothing precedes it."""
        return []

    def extend(self, logits: Logits, best: int | None = None) -> Sequence[int]:
        """Note how likely the next token is, and return it."""
        token = self._tokens[self._seen]
        self._sum += float(log_probabilities(logits)[token])
        self._seen += 1
        if self._seen == len(self._tokens):
            self.stop = StopReason.END
            return []
        return [token]


class AskedJob(Job):
    """A job that somebody waits for; its future gives the job itself once it is done."""

    def __init__(
        self, prompt: Sequence[int], start: Callable[[], GrowingReply], *, snapshot_at: int
    ) -> None:
        self.future: Future[AskedJob] = Future()
        super().__init__(prompt, start, snapshot_at=snapshot_at)

    @property
    def computed(self) -> int:
        """Tokens of the prompt that were not reused."""
        return self.prompt.size - self.reused if self.lane is not None else 0

    def cancelled(self) -> bool:
        return self.future.cancelled()

    def fail(self, error: BaseException) -> None:
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def finish(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(self)


class Asked:
    """One request: the jobs it takes, and its completion once they are done."""

    def __init__(self, loaded: LoadedModel, request: Request) -> None:
        """Raises what `LoadedModel.tokenise`, `prepare` and `options` do."""
        self._request = request
        self._began = time.monotonic()
        self._prompt = loaded.tokenise(request.messages)
        if request.options:
            options = loaded.options(request, self._prompt)
            self._shared = options.shared
            starts: list[Callable[[], GrowingReply]] = [
                partial(GivenReply, rest) for rest in options.rests
            ]
        else:
            self._shared = ()
            starts = [loaded.prepare(request, self._prompt)]
        tokens = [token for chunk in self._prompt.chunks for token in chunk] + [*self._shared]
        self.jobs = [
            AskedJob(tokens, start, snapshot_at=self._prompt.last_turn) for start in starts
        ]

    def completion(self) -> Completion:
        """Wait for it; raises what made a job fail."""
        done = [job.future.result() for job in self.jobs]
        seconds = time.monotonic() - self._began
        size = self._prompt.size
        replies = [job.reply for job in done]
        if isinstance(replies[0], Reply):
            return replies[0].completion(size, done[0].computed, seconds)
        found = [reply.likelihood for reply in replies if isinstance(reply, GivenReply)]
        decoded = sum(likelihood.tokens - 1 for likelihood in found)
        computed = sum(job.computed for job in done) + decoded
        reused = max(0, size + len(self._shared) + decoded - computed)
        return likeliest(
            self._request,
            found,
            prompt=self._prompt.text,
            tokens=TokenCounts(computed, reused, 0),
            seconds=seconds,
        )

    def cancel(self) -> None:
        """Give up what is not done."""
        for job in self.jobs:
            job.future.cancel()
