"""Choosing the next token: greedy, or at a temperature, within a grammar."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.engine import Sampling
from arigraph_local.llm.grammar.token_grammar import Constraint

Scores = npt.NDArray[np.float32]

_LIKELIEST = 512
"""Tokens that are sorted first; seldom does a nucleus hold more."""


class Sampler:
    """One reply's choices, reproducible from its seed whatever else is computed beside it.

    At a temperature T the choice is argmax(logits / T + g) with g standard Gumbel noise, which
    samples softmax(logits / T). The same noise with refused tokens left out samples the masked
    distribution exactly, so the best token is tried first and the mask computed only if it is
    refused. `top_p` and `min_p` leave out more tokens; where the grammar refuses every token they
    keep, they are applied once more to what it allows.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._temperature = sampling.temperature
        self._top_p = sampling.top_p
        self._min_p = sampling.min_p
        self._noise = np.random.Generator(np.random.PCG64(sampling.seed))

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, so that the caller may find it beforehand."""
        return self._temperature <= 0

    def choose(
        self,
        logits: Scores,
        constraint: Constraint | None,
        ends: frozenset[int],
        best: int | None = None,
    ) -> int:
        """The next token, consumed by the constraint unless it ends the turn.

        `logits` has shape (vocabulary,) and is only read. `best`, their argmax if the caller has
        it, is used by a greedy sampler alone; `logits` are then read only if it is refused.
        Raises `ArigraphError` if the grammar leaves no token.
        """
        scores = logits if self.greedy else self._perturbed(logits)
        if best is None or not self.greedy:
            best = int(np.argmax(self._kept(scores, logits)))
        if constraint is None or (best in ends and constraint.accepting):
            return best
        if constraint.try_consume(best):
            return best
        best = self._best_allowed(scores, logits, constraint.allowed())
        if best not in ends and not constraint.try_consume(best):
            raise ArigraphError("grammar: a token the mask allows was refused")
        return best

    def _best_allowed(self, scores: Scores, logits: Scores, allowed: npt.NDArray[np.bool_]) -> int:
        if not allowed.any():
            raise ArigraphError("grammar: no token of the vocabulary can continue the reply")
        size = allowed.size
        masked = np.where(allowed, self._kept(scores, logits)[:size], -np.inf)
        best = int(np.argmax(masked))
        if masked[best] == -np.inf:
            possible = np.where(allowed, logits[:size], np.float32(-np.inf))
            masked = np.where(allowed, self._kept(scores[:size], possible), -np.inf)
            best = int(np.argmax(masked))
        return best

    def _perturbed(self, logits: Scores) -> Scores:
        # If E is standard exponential, -log(E) is standard Gumbel.
        exponential = self._noise.standard_exponential(logits.size, dtype=np.float32)
        gumbel = -np.log(np.maximum(exponential, np.finfo(np.float32).tiny))
        return logits / np.float32(self._temperature) + gumbel

    def _kept(self, scores: Scores, logits: Scores) -> Scores:
        """The scores, at minus infinity where `top_p` or `min_p` leaves a token out."""
        if self.greedy or (self._top_p >= 1 and self._min_p <= 0):
            return scores
        least = -np.inf
        if self._top_p < 1:
            least = _least_of_nucleus(logits, self._top_p)
        if self._min_p > 0:
            least = max(least, float(logits.max()) + float(np.log(self._min_p)))
        return np.where(logits >= least, scores, np.float32(-np.inf))


def _least_of_nucleus(logits: Scores, top_p: float) -> float:
    """The least logit among the likeliest tokens that together reach the probability `top_p`.

    Tokens of equal logits are in or out together, so that their order decides nothing.
    """
    weights = np.exp((logits - logits.max()).astype(np.float64))
    wanted = top_p * float(weights.sum())
    for count in (_LIKELIEST, logits.size):
        if count < logits.size:
            likeliest = np.argpartition(logits, logits.size - count)[logits.size - count :]
        else:
            likeliest = np.arange(logits.size)
        likeliest = likeliest[np.argsort(-logits[likeliest], kind="stable")]
        reached = np.cumsum(weights[likeliest])
        if reached[-1] >= wanted:
            return float(logits[likeliest[int(np.searchsorted(reached, wanted))]])
    return -np.inf
