"""Putting one question of a memory to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.agent.recording import called
from arigraph_local.llm.engine import Engine, Limits, Message, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.observing import ModelCall


class MemoryAsker:
    """Asks greedily and tells the log; each task is a conversation of its own, whose system turn
    is computed once."""

    def __init__(
        self, engine: Engine, prompts: PromptSet, goal: str, reply_seconds: float | None = None
    ) -> None:
        self._engine = engine
        self._prompts = prompts
        self._goal = goal
        self._reply_seconds = reply_seconds

    def __call__(
        self,
        task: str,
        step: int,
        emit: Emit,
        *,
        tokens: int,
        values: Mapping[str, Any],
        bounds: Mapping[str, int] | None = None,
    ) -> str:
        """The reply to the task's template, stripped; `bounds` are the variables of its grammar.

        Raises what `Engine.generate` does.
        """
        grammar = self._prompts.grammar(task, **(bounds or {}))
        limits = Limits(tokens, self._reply_seconds)
        turns = self._turns(task, values)
        request = Request(task, "memory", turns, limits, grammar=grammar)
        completion = self._engine.generate([request])[0]
        emit(called(step, ModelCall(task, completion)))
        return completion.text.strip()

    def fits(self, task: str, tokens: int, values: Mapping[str, Any]) -> bool:
        """Whether the question and a reply of so many tokens fit in the context."""
        size = self._engine.count_tokens(self._turns(task, values))
        return size + tokens <= self._engine.context_tokens

    def _turns(self, task: str, values: Mapping[str, Any]) -> tuple[Message, ...]:
        system = Message("system", self._prompts.system(task, goal=self._goal))
        return (system, Message("user", self._prompts.user(task, **values)))
