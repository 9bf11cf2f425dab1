"""Replies that are one of given texts: how likely each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from arigraph_local.llm.engine import Completion, Likelihood, Request, StopReason, TokenCounts
from arigraph_local.llm.llama.chunks import Chunk
from arigraph_local.llm.llama.llama_decoder import Logits


@dataclass(frozen=True)
class TokenisedOptions:
    """What all options begin with, and what each goes on with: one token at least."""

    shared: Chunk
    rests: tuple[Chunk, ...]

    @classmethod
    def of(cls, options: Sequence[Sequence[int]]) -> Self:
        """Options of one token or more."""
        length = 0
        shortest = min(map(len, options))
        while length < shortest - 1 and len({option[length] for option in options}) == 1:
            length += 1
        rests = tuple(tuple(option[length:]) for option in options)
        return cls(tuple(options[0][:length]), rests)


def log_probabilities(logits: Logits) -> npt.NDArray[np.float64]:
    """Natural logarithms of the softmax; shape as given, the last axis is the vocabulary."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    result: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def likeliest(
    request: Request,
    likelihoods: Sequence[Likelihood],
    *,
    prompt: str,
    tokens: TokenCounts,
    seconds: float,
) -> Completion:
    """The completion of a request with options; of equals the first is taken."""
    best = max(range(len(likelihoods)), key=lambda index: likelihoods[index].log_probability)
    return Completion(
        text=request.options[best],
        prompt=prompt,
        tokens=tokens,
        seconds=seconds,
        stop=StopReason.END,
        likelihoods=tuple(likelihoods),
    )
