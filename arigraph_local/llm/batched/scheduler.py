"""Which tokens of which requests are computed next: requests join and leave at any turn.

A turn is one decode call. It takes the running replies first, then as much of the prompts of new
requests, oldest first, as the batch has room for. Requests start in the order they came; one that
shares much of its prompt with a request being computed waits until it can copy that part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.composing import Batch, compose
from arigraph_local.llm.batched.job import Job
from arigraph_local.llm.batched.lanes import Decoder, Lanes
from arigraph_local.llm.batched.prefix_store import common_length
from arigraph_local.llm.llama.llama_decoder import Logits

_WORTH_WAITING = 32
"""Tokens that another request is computing, for which it pays to wait."""


class Scheduler:
    """Runs jobs on a decoder. Not safe for threads: one of them calls everything."""

    def __init__(self, decoder: Decoder, kept_bytes: int) -> None:
        """`kept_bytes` bounds what is kept of earlier prompts outside the decoder."""
        self._decoder = decoder
        self.lanes = Lanes(decoder, kept_bytes)
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []

    @property
    def busy(self) -> bool:
        """Whether a turn would do something."""
        return bool(self._waiting or self._running)

    def add(self, job: Job) -> None:
        """Put a request at the end of those that wait."""
        self._waiting.append(job)

    def fail_all(self, error: BaseException) -> None:
        """Give up every request."""
        jobs = [*self._running, *self._waiting]
        self._running.clear()
        self._waiting.clear()
        for job in jobs:
            job.fail(error)

    def turn(self) -> None:
        """One decode call, and what it leads to."""
        self._drop_cancelled()
        self._admit()
        batch = compose(self._running, self.lanes, self._decoder)
        if not batch.spans:
            return
        code = self._decoder.decode(batch.spans)
        error = self._decoder.failure(code) if code else None
        for lane in batch.fillers:
            self.lanes.rewind(lane)
        if error is not None:
            self._recover(batch.jobs, error)
        else:
            self._advance(batch)

    def _drop_cancelled(self) -> None:
        for job in [job for job in self._running if job.cancelled()]:
            self._running.remove(job)
            if job.lane is not None:
                self.lanes.discard(job.lane)
        if any(job.cancelled() for job in self._waiting):
            self._waiting = deque(job for job in self._waiting if not job.cancelled())

    def _admit(self) -> None:
        for job in list(self._waiting):
            if not self.lanes.any_idle:
                return
            if self._can_copy_soon(job):
                continue
            # Still among those that wait while it starts: whatever happens, it is not forgotten.
            self._start(job)
            self._waiting.remove(job)

    def _can_copy_soon(self, job: Job) -> bool:
        """Whether a running request is about to compute much of this one's prompt."""
        shared = max(
            (self._shared(other, job) for other in self._running if other.in_prompt), default=0
        )
        if shared < _WORTH_WAITING:
            return False
        return shared - self.lanes.reusable(job.prompt) >= _WORTH_WAITING

    def _shared(self, running: Job, job: Job) -> int:
        """Tokens that `job` will be able to copy from a running request's prompt."""
        common = common_length(running.prompt, job.prompt[:-1])
        if self._decoder.whole_only:
            # Once past the point where it is kept, the state can no longer be had.
            at = running.snapshot_at
            return at if running.held < at <= common else 0
        return common

    def _start(self, job: Job) -> None:
        try:
            job.reply = job.start()
            job.tokens += job.reply.begin()
        except Exception as error:
            job.fail(error)
            return
        if job.reply.stop is not None:
            job.finish()
            return
        job.lane, job.reused = self.lanes.acquire(job.prompt)
        self._running.append(job)

    def _advance(self, batch: Batch) -> None:
        """Note what was computed, and let the replies grow whose logits are there."""
        ready: list[Job] = []
        for span, job in batch.owned:
            assert job.lane is not None
            job.lane.append(span.tokens)
            job.alone = False
            if self._decoder.whole_only and job.held == job.snapshot_at:
                self.lanes.snapshot(job.lane)
            if span.wants_logits:
                ready.append(job)
        if not ready:
            return
        logits = self._decoder.logits()
        greedy = [row for row, job in enumerate(ready) if job.reply and job.reply.greedy]
        best = _likeliest(logits, greedy)
        for row, job in enumerate(ready):
            self._grow(job, logits[row], best.get(row))

    def _grow(self, job: Job, logits: Logits, best: int | None) -> None:
        assert job.reply is not None
        job.started_over = False
        try:
            job.tokens += job.reply.extend(logits, best)
        except Exception as error:
            job.fail(error)
            self._leave(job)
            return
        if job.reply.stop is not None:
            job.finish()
            self._leave(job)

    def _recover(self, jobs: Sequence[Job], error: ArigraphError) -> None:
        """Try the jobs of a failed batch one by one; one that fails alone starts over once."""
        for job in jobs:
            assert job.lane is not None
            job.alone = True
            self.lanes.rewind(job.lane)
        if len(jobs) > 1:
            return
        job = jobs[0]
        assert job.lane is not None
        if job.started_over:
            job.fail(error)
            self._running.remove(job)
            self.lanes.discard(job.lane)
            return
        job.started_over = True
        self.lanes.empty(job.lane)

    def _leave(self, job: Job) -> None:
        assert job.lane is not None
        self._running.remove(job)
        self.lanes.release(job.lane)


def _likeliest(logits: Logits, rows: Sequence[int]) -> dict[int, int]:
    """The argmax of each of these rows."""
    if len(rows) == len(logits):
        return dict(enumerate(np.argmax(logits, axis=1).tolist()))
    return {row: int(np.argmax(logits[row])) for row in rows}
