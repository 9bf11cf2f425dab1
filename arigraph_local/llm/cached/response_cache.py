"""Replies kept on disk and given again to equal requests: for reruns, never on by default.

A reply is found by everything that decides it: the model and how it runs, the turns as the engine
has them (with the chunks they were decoded in), the grammar, the limit, the sampling, the length
of the reasoning and the stop condition. A reply that time cut off is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from pydantic import BaseModel, ValidationError

from arigraph_local.llm.cached.reply_store import ReplyStore, Warn, to_stderr
from arigraph_local.llm.engine import (
    Chunks,
    Completion,
    Engine,
    Likelihood,
    Message,
    Request,
    StopReason,
    TokenCounts,
)

_FORMAT = 2


class _Kept(BaseModel):
    """A reply as it lies on disk."""

    text: str
    prompt: str
    stop: StopReason
    chunks: Chunks = ()
    reasoning: str = ""
    likelihoods: tuple[Likelihood, ...] = ()


class CachedEngine:
    """An engine that answers from a folder where it can, else asks the engine it wraps.

    Several processes may share the folder. A cached reply costs no tokens and is marked `cached`.
    """

    def __init__(
        self, engine: Engine, folder: Path, *, variant: str = "", warn: Warn = to_stderr
    ) -> None:
        """`variant` names what decides replies beside the model, such as the cache's precision.

        Raises `UsageError` if the folder cannot be made or used.
        """
        self._engine = engine
        self._variant = variant
        self._store = ReplyStore(folder, warn)

    @property
    def context_tokens(self) -> int:
        """That of the engine."""
        return self._engine.context_tokens

    @property
    def model_id(self) -> str:
        """That of the engine."""
        return self._engine.model_id

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """As the engine counts them."""
        return self._engine.count_tokens(messages)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer each request, in the order given; the engine gets all unknown ones at once."""
        keys = [self.key(request) for request in requests]
        replies = [self._find(key) for key in keys]
        first = {key: index for index, key in reversed(list(enumerate(keys))) if key is not None}
        asked = [
            index
            for index, (key, reply) in enumerate(zip(keys, replies, strict=True))
            if reply is None and (key is None or first[key] == index)
        ]
        if asked:
            answers = self._engine.generate([requests[index] for index in asked])
            for index, answer in zip(asked, answers, strict=True):
                replies[index] = answer
                self._keep(keys[index], answer)
        return [
            reply or self._again(replies, first[key or ""])
            for key, reply in zip(keys, replies, strict=True)
        ]

    async def agenerate(self, request: Request) -> Completion:
        """Answer one request without holding up the event loop."""
        key = self.key(request)
        if (known := await asyncio.to_thread(self._find, key)) is not None:
            return known
        ask: Any = getattr(self._engine, "agenerate", None)
        if ask is not None:
            reply: Completion = await ask(request)
        else:
            [reply] = await asyncio.to_thread(self._engine.generate, [request])
        await asyncio.to_thread(self._keep, key, reply)
        return reply

    def close(self) -> None:
        """Close the folder and the engine. Closing twice is harmless."""
        self._store.close()
        self._engine.close()

    def key(self, request: Request) -> str | None:
        """The name a reply is kept under; None for a request whose reply cannot be kept."""
        stop = _stop_name(request.stop_when)
        if stop is None:
            return None
        sampling = request.sampling
        deciding = [
            _FORMAT,
            self.model_id,
            self.context_tokens,
            self._variant,
            [[turn.role, turn.content, turn.chunks] for turn in request.messages],
            request.grammar,
            request.limits.max_tokens,
            [sampling.temperature, sampling.seed, sampling.top_p, sampling.min_p],
            request.reasoning_tokens,
            request.options,
            stop,
        ]
        return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()

    @staticmethod
    def _again(replies: Sequence[Completion | None], index: int) -> Completion:
        """The reply of an equal request that was asked at the same time."""
        reply = replies[index]
        assert reply is not None
        return replace(reply, tokens=TokenCounts(), seconds=0.0, cached=True)

    def _find(self, key: str | None) -> Completion | None:
        text = None if key is None else self._store.get(key)
        if text is None:
            return None
        try:
            kept = _Kept.model_validate_json(text)
        except ValidationError:
            return None
        return Completion(
            text=kept.text,
            prompt=kept.prompt,
            tokens=TokenCounts(),
            seconds=0.0,
            stop=kept.stop,
            chunks=kept.chunks,
            reasoning=kept.reasoning,
            cached=True,
            likelihoods=kept.likelihoods,
        )

    def _keep(self, key: str | None, reply: Completion) -> None:
        if key is None or reply.stop is StopReason.SECONDS:
            return
        kept = _Kept(
            text=reply.text,
            prompt=reply.prompt,
            stop=reply.stop,
            chunks=reply.chunks,
            reasoning=reply.reasoning,
            likelihoods=reply.likelihoods,
        )
        self._store.put(key, kept.model_dump_json())


def _stop_name(stop_when: Callable[[str], bool] | None) -> str | None:
    """A name for what a stop condition does; None for one that a name does not describe."""
    if stop_when is None:
        return ""
    if isinstance(stop_when, partial) or not isinstance(stop_when, FunctionType):
        return None
    if stop_when.__closure__ or "<" in stop_when.__qualname__:
        return None
    code = hashlib.sha256(stop_when.__code__.co_code).hexdigest()
    return f"{stop_when.__module__}.{stop_when.__qualname__} {code}"
