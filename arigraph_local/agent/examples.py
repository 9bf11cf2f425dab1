"""Worked examples of acting, from a library, by similarity to the situation at hand."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.search.text_vectors import TextVectors

EXAMPLE_TOKENS = 80
"""What one example is expected to take in a prompt."""


class ActingExample(BaseModel):
    """A situation and the action that was right in it."""

    model_config = ConfigDict(extra="forbid")

    situation: str = Field(min_length=1)
    rationale: str = Field(min_length=1)
    action: str = Field(min_length=1)


class ActingExamples:
    """The examples of a prompt set, each with the vector of its situation."""

    def __init__(self, examples: list[ActingExample], embedder: Embedder) -> None:
        self._examples = examples
        self._vectors = TextVectors(embedder)
        self._known = self._vectors.of([example.situation for example in examples])

    @classmethod
    def load(cls, prompts: PromptSet, embedder: Embedder) -> Self:
        """Those of `act.examples.toml`. Raises `UsageError` for a bad file."""
        return cls(prompts.examples("act", ActingExample), embedder)

    def nearest(self, situation: str, count: int) -> tuple[ActingExample, ...]:
        """At most `count` examples, the most similar last: a model leans on what it read last."""
        if not self._examples or not count:
            return ()
        similarity = self._known @ self._vectors.of([situation])[0]
        best = np.argsort(-similarity, kind="stable")[:count]
        return tuple(self._examples[index] for index in best[::-1])
