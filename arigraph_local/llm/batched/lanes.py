"""Lanes: the sequences of a context, what each holds, and giving one to a request.

A conversation that goes on finds its lane as it left it. Any other request gets a lane with the
longest prefix that some lane or the store holds copied into it; what the lane held before is put
away in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Protocol

import numpy as np

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.prefix_store import (
    Holder,
    KeptPrefix,
    PrefixStore,
    Tokens,
    usable_length,
)
from arigraph_local.llm.llama.llama_decoder import Logits, Span, State

_WORTH_COPYING = 16
"""Fewer tokens than this are computed about as fast as a state is copied."""
_WORTH_KEEPING = 64
"""Fewer tokens than this are not worth the memory of a state of their own."""


class Decoder(Protocol):
    """What computes: see `LlamaDecoder`, which documents each of these."""

    @property
    def sequences(self) -> int: ...
    @property
    def context_tokens(self) -> int: ...
    @property
    def batch_tokens(self) -> int: ...
    @property
    def whole_only(self) -> bool: ...
    def decode(self, spans: Sequence[Span]) -> int: ...
    def logits(self) -> Logits: ...
    def remove(self, sequence: int, start: int = 0) -> bool: ...
    def save(self, sequence: int) -> State: ...
    def restore(self, sequence: int, state: State) -> bool: ...
    def failure(self, code: int) -> ArigraphError: ...
    def free(self) -> None: ...


class Lane:
    """One sequence: the tokens it holds, and whether a request has it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.busy = False
        self.used = -1
        self.held = 0
        """How many tokens the sequence holds."""
        self._room = np.empty(256, dtype=np.int32)

    @property
    def tokens(self) -> Tokens:
        """The tokens the sequence holds; a view."""
        return self._room[: self.held]

    def append(self, tokens: Sequence[int] | Tokens) -> None:
        """Note that the sequence holds these too."""
        end = self.held + len(tokens)
        if end > self._room.size:
            self._room = np.resize(self._room, max(end, 2 * self._room.size))
        self._room[self.held : end] = tokens
        self.held = end


class Lanes:
    """All lanes of a decoder, with the store that outlives what they hold."""

    def __init__(self, decoder: Decoder, kept_bytes: int) -> None:
        """`kept_bytes` bounds the store."""
        self._decoder = decoder
        self._whole_only = decoder.whole_only
        self._lanes = [Lane(number) for number in range(decoder.sequences)]
        self._clock = count()
        self.store = PrefixStore(kept_bytes, whole_only=decoder.whole_only)

    @property
    def any_idle(self) -> bool:
        """Whether `acquire` can succeed."""
        return not all(lane.busy for lane in self._lanes)

    def reusable(self, prompt: Tokens) -> int:
        """Tokens of a prompt that would not have to be computed now."""
        return self._source(prompt)[1]

    def acquire(self, prompt: Tokens) -> tuple[Lane, int]:
        """An idle lane that holds as much of `prompt` as can be had, and how many tokens that is.

        The lane is busy until `release`. Call only while `any_idle`.
        """
        source, reused = self._source(prompt)
        lane = self._in_place(prompt, reused)
        if lane is not None:
            self._cut(lane, reused)
        else:
            lane = self._lane_to_fill()
            self._fill(lane, source, prompt[:reused])
        lane.busy = True
        return lane, lane.held

    def release(self, lane: Lane) -> None:
        """The request is done; what the lane holds stays for whoever continues it."""
        lane.busy = False
        lane.used = next(self._clock)

    def discard(self, lane: Lane) -> None:
        """The request is done and what the lane holds is of no use."""
        self.empty(lane)
        lane.busy = False

    def empty(self, lane: Lane) -> None:
        """Make the sequence hold nothing."""
        self._decoder.remove(lane.number)
        lane.held = 0

    def rewind(self, lane: Lane) -> None:
        """Drop what a failed computation may have left beyond the tokens on record."""
        self._cut(lane, lane.held)

    def snapshot(self, lane: Lane) -> None:
        """Keep what the lane holds now, because other conversations begin so."""
        if not self.store.covers(lane.tokens):
            self.store.add(lane.tokens.copy(), self._decoder.save(lane.number), shared=True)

    def between(self, first: int, last: int) -> list[Lane]:
        """The lanes after number `first` and before `last`."""
        return self._lanes[first + 1 : last]

    def empty_all(self) -> None:
        """Forget everything that no request is using."""
        self.store.clear()
        for lane in self._lanes:
            if not lane.busy:
                self.empty(lane)

    def _source(self, prompt: Tokens) -> tuple[Holder | None, int]:
        """Who holds the longest usable prefix, the store before lanes, and its length."""
        best: Holder | None = None
        saved = 0
        for lane in self._lanes:
            usable = usable_length(lane.tokens, prompt, whole_only=self._whole_only)
            if usable > saved:
                best, saved = lane, usable
        kept, usable = self.store.longest(prompt)
        return (kept, usable) if usable >= saved else (best, saved)

    def _in_place(self, prompt: Tokens, reusable: int) -> Lane | None:
        """An idle lane whose conversation this prompt continues or asks again."""
        if not reusable:
            return None
        for lane in self._lanes:
            if lane.busy or not lane.held:
                continue
            usable = usable_length(lane.tokens, prompt, whole_only=self._whole_only)
            if usable == reusable and usable >= min(lane.held, prompt.size - 1):
                return lane
        return None

    def _lane_to_fill(self) -> Lane:
        """With nothing running, the lane used least recently; else the first idle one.

        llama.cpp computes only neighbouring sequences together, so running lanes stay close.
        """
        idle = [lane for lane in self._lanes if not lane.busy]
        if len(idle) == len(self._lanes):
            return min(idle, key=lambda lane: lane.used)
        return idle[0]

    def _fill(self, lane: Lane, source: Holder | None, prefix: Tokens) -> None:
        if source is lane and not self._whole_only:
            self._put_away(lane)
            self._cut(lane, prefix.size)
            return
        state = None
        if prefix.size >= _WORTH_COPYING:
            state = self._state(source)
        self._put_away(lane)
        lane.held = 0
        if state is None or source is None or not self._decoder.restore(lane.number, state):
            self.empty(lane)
            return
        lane.append(source.tokens)
        self._cut(lane, prefix.size)
        self._keep_branching_point(lane, source)

    def _state(self, source: Holder | None) -> State | None:
        """The state of a lane or a kept prefix."""
        if isinstance(source, Lane):
            return self._decoder.save(source.number)
        if isinstance(source, KeptPrefix):
            self.store.touch(source)
            return source.state
        return None

    def _keep_branching_point(self, lane: Lane, source: Holder) -> None:
        """Where two conversations part, what they share is kept by itself.

        It outlives both, and is all that the next one needs to copy. A kept conversation that is
        continued whole is in the lane now, and need not be kept twice.
        """
        if isinstance(source, KeptPrefix) and source.tokens.size == lane.held:
            if not source.shared:
                self.store.drop(source)
            return
        known = self.store.longest_whole(lane.tokens)
        if lane.held - known >= _WORTH_KEEPING:
            self.store.add(lane.tokens.copy(), self._decoder.save(lane.number), shared=True)

    def _put_away(self, lane: Lane) -> None:
        """Keep what an idle lane holds before another conversation takes the lane."""
        if lane.held >= _WORTH_KEEPING and not self.store.covers(lane.tokens):
            self.store.add(lane.tokens.copy(), self._decoder.save(lane.number))

    def _cut(self, lane: Lane, length: int) -> None:
        """Make a lane hold the first `length` tokens of what it holds, or nothing."""
        if length and self._decoder.remove(lane.number, length):
            lane.held = length
        else:
            self.empty(lane)
