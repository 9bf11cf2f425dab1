"""Choosing the next token: greedy, or at a temperature, within a grammar."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.engine import Sampling
from arigraph_local.llm.grammar import Constraint


class Sampler:
    """One reply's choices, reproducible from its seed.

    At a temperature T the choice is argmax(logits / T + g) with g standard Gumbel noise, which
    samples softmax(logits / T). The same noise with refused tokens left out samples the masked
    distribution exactly, so the best token is tried first and the mask computed only if it is
    refused.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._temperature = sampling.temperature
        self._noise = np.random.Generator(np.random.PCG64(sampling.seed))

    def choose(
        self,
        logits: npt.NDArray[np.float32],
        constraint: Constraint | None,
        ends: frozenset[int],
    ) -> int:
        """The next token, consumed by the constraint unless it ends the turn.

        `logits` has shape (vocabulary,). Raises `ArigraphError` if the grammar leaves no token.
        """
        scores = self._perturbed(logits)
        best = int(np.argmax(scores))
        if constraint is None or (best in ends and constraint.accepting):
            return best
        if constraint.try_consume(best):
            return best
        allowed = constraint.allowed()
        if not allowed.any():
            raise ArigraphError("grammar: no token of the vocabulary can continue the reply")
        masked = np.where(allowed, scores[: allowed.size], -np.inf)
        best = int(np.argmax(masked))
        if best not in ends and not constraint.try_consume(best):
            raise ArigraphError("grammar: a token the mask allows was refused")
        return best

    def _perturbed(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if self._temperature <= 0:
            return logits
        # If E is standard exponential, -log(E) is standard Gumbel.
        exponential = self._noise.standard_exponential(logits.size, dtype=np.float32)
        gumbel = -np.log(np.maximum(exponential, np.finfo(np.float32).tiny))
        return logits / np.float32(self._temperature) + gumbel
