"""Computed prompts kept in ordinary memory, to be continued by later requests.

A kept prefix is a path of tokens and the state of a sequence that holds exactly these. Copying a
state back costs about as much as computing one token; computing it again costs one for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from arigraph_local.llm.llama.llama_decoder import State

Tokens: TypeAlias = npt.NDArray[np.int32]


class Holder(Protocol):
    """Whatever holds the state after a path of tokens."""

    @property
    def tokens(self) -> Tokens:
        """The path, from the first token of the prompt."""
        ...


def as_tokens(tokens: Sequence[int]) -> Tokens:
    """Tokens as an array, which is what paths are compared as."""
    return np.asarray(tokens, dtype=np.int32)


def common_length(first: Tokens, second: Tokens) -> int:
    """Tokens that two paths share from their start."""
    size = min(first.size, second.size)
    if not size or first[0] != second[0]:
        return 0
    differing = np.flatnonzero(first[:size] != second[:size])
    return int(differing[0]) if differing.size else size


def usable_length(held: Tokens, prompt: Tokens, *, whole_only: bool) -> int:
    """Tokens of `prompt` that need no computing for one who gets the state after `held`.

    The last token is always computed, because its logits are wanted. With `whole_only` a state
    cannot be cut, so it is of use as it is or not at all.
    """
    common = common_length(held, prompt[:-1])
    return common if common == held.size or not whole_only else 0


@dataclass(eq=False)
class KeptPrefix:
    """One kept path. `shared` tells that several conversations begin with it."""

    tokens: Tokens
    state: State
    shared: bool
    used: int


class PrefixStore:
    """Kept prefixes, the least recently used forgotten first."""

    def __init__(self, limit_bytes: int, *, whole_only: bool = False) -> None:
        """`limit_bytes` bounds all states together; 0 keeps nothing."""
        self.limit = limit_bytes
        """Most bytes of all kept states."""
        self._whole_only = whole_only
        self._kept: list[KeptPrefix] = []
        self._clock = count()
        self.bytes = 0
        """Bytes of all kept states."""

    def __len__(self) -> int:
        return len(self._kept)

    def longest(self, prompt: Tokens) -> tuple[KeptPrefix | None, int]:
        """The kept prefix that saves most of `prompt`, and how many tokens it saves.

        Of equals the shortest, which is the cheapest to copy.
        """
        best, saved = None, 0
        for kept in self._kept:
            usable = usable_length(kept.tokens, prompt, whole_only=self._whole_only)
            shorter = best is not None and kept.tokens.size < best.tokens.size
            if usable > saved or (usable == saved > 0 and shorter):
                best, saved = kept, usable
        return best, saved

    def longest_whole(self, tokens: Tokens) -> int:
        """Tokens of the longest kept prefix that `tokens` begins with, whole."""
        lengths = (
            kept.tokens.size
            for kept in self._kept
            if common_length(kept.tokens, tokens) == kept.tokens.size
        )
        return max(lengths, default=0)

    def touch(self, kept: KeptPrefix) -> None:
        """Note that a prefix was of use."""
        kept.used = next(self._clock)

    def covers(self, tokens: Tokens) -> bool:
        """Whether exactly these tokens, or with attention more of them, are kept."""
        return any(
            kept.tokens.size == tokens.size or not self._whole_only
            for kept in self._kept
            if common_length(kept.tokens, tokens) == tokens.size
        )

    def add(self, tokens: Tokens, state: State, *, shared: bool = False) -> None:
        """Keep a state, at the cost of those used least recently.

        One that alone is over the limit is not kept.
        """
        if state.nbytes > self.limit:
            return
        self._kept.append(KeptPrefix(tokens, state, shared, next(self._clock)))
        self.bytes += state.nbytes
        while self.bytes > self.limit:
            self.drop(min(self._kept, key=lambda kept: kept.used))

    def drop(self, kept: KeptPrefix) -> None:
        """Forget one prefix, unless that has happened already."""
        if kept in self._kept:
            self._kept.remove(kept)
            self.bytes -= kept.state.nbytes

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self.bytes = 0
