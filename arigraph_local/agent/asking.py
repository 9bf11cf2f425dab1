"""Putting one question of the agent's conversation to the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from arigraph_local.llm.engine import Completion, Engine, Limits, Message, Request, Sampling

CONVERSATION = "agent"


class Asker:
    """Asks with the same sampling, time limit and room for reasoning each time.

    The seed of a request depends on nothing but the run's seed, the step and the task.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        temperature: float,
        seed: int,
        reply_seconds: float | None = None,
        reasoning_tokens: int = 0,
    ) -> None:
        self._engine = engine
        self._temperature = temperature
        self._seed = seed
        self._reply_seconds = reply_seconds
        self.reasoning_tokens = reasoning_tokens

    @property
    def context_tokens(self) -> int:
        """Tokens that a prompt and its replies may fill together."""
        return self._engine.context_tokens - self.reasoning_tokens

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt tokens that these turns take."""
        return self._engine.count_tokens(messages)

    def __call__(
        self, task: str, step: int, messages: Sequence[Message], grammar: str, tokens: int
    ) -> Completion:
        """One reply. Raises what `Engine.generate` does."""
        seed = self.seed(task, step)
        sampling = Sampling(self._temperature, seed)
        return self._engine.generate([self._request(task, messages, grammar, tokens, sampling)])[0]

    def samples(
        self,
        task: str,
        step: int,
        messages: Sequence[Message],
        grammar: str,
        tokens: int,
        *,
        count: int,
        temperature: float,
    ) -> list[Completion]:
        """Several replies to the same question, each with a seed of its own."""
        seeds = [self.seed(f"{task}/{number}", step) for number in range(count)]
        return self._engine.generate(
            [
                self._request(task, messages, grammar, tokens, Sampling(temperature, seed))
                for seed in seeds
            ]
        )

    def likeliest(
        self, task: str, step: int, messages: Sequence[Message], options: Sequence[str]
    ) -> Completion:
        """The likeliest of these texts as a reply, with how likely each is."""
        request = self._request(task, messages, None, 0, Sampling(0.0, self.seed(task, step)))
        return self._engine.generate([replace(request, options=tuple(options))])[0]

    def seed(self, task: str, step: int) -> int:
        """The seed of a request, 32 bits."""
        digest = hashlib.sha256(f"{self._seed}/{step}/{task}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def _request(
        self,
        task: str,
        messages: Sequence[Message],
        grammar: str | None,
        tokens: int,
        sampling: Sampling,
    ) -> Request:
        return Request(
            task=task,
            conversation=CONVERSATION,
            messages=tuple(messages),
            limits=Limits(tokens, self._reply_seconds),
            grammar=grammar,
            sampling=sampling,
            reasoning_tokens=self.reasoning_tokens,
        )
