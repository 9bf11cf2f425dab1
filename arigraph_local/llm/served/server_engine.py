"""The server engine: a model on another box, behind an OpenAI-compatible endpoint.

For llama-server, llama-cpp-python's server and vLLM. The server keeps its own prompt cache and
batches as it likes, so replies are as reproducible as it is. Replies come whole: a `stop_when`
shortens the text, but not the time it took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.chat.reasoning import ReasoningTags, split_reasoning
from arigraph_local.llm.engine import Completion, Message, Request, StopReason, TokenCounts
from arigraph_local.llm.grammar.token_grammar import begins, matches
from arigraph_local.llm.served.json_http import (
    HttpRefusedError,
    HttpTimeoutError,
    JsonHttp,
    Retries,
)
from arigraph_local.llm.served.server_protocol import (
    ChatReply,
    ServedModel,
    chat_payload,
    choose_model,
    parse_models,
    parse_reply,
    prompt_text,
)

_TURN_TOKENS = 8
"""What a chat template puts around a turn, generously."""
_KEPT_COUNTS = 4096
_TOKENIZERS = ("/tokenize", "/extras/tokenize/count")
"""llama-server and vLLM, then llama-cpp-python."""
_OVERFLOW = ("exceed_context_size", "context length", "context size", "context window")


class ServerEngine:
    """A served model answering requests, many at once."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        context_tokens: int = 4096,
        parallel: int = 16,
        retries: Retries | None = None,
        reply_seconds: float = 600.0,
    ) -> None:
        """`url` is `http://HOST:PORT`, `model` a name the server lists.

        Prompt and reply of one request may fill `context_tokens`, or what the server says it has
        if that is less. `parallel` requests are under way at once; one that has no time limit of
        its own may take `reply_seconds`. Raises `UsageError` for a model that is not served and
        `ArigraphError` when the server cannot be reached, each in one line.
        """
        self._http = JsonHttp(url.removesuffix("/").removesuffix("/v1"), retries)
        self._reply_seconds = reply_seconds
        self._tags = ReasoningTags()
        models = parse_models(self._http.get("/v1/models"), self._http.url)
        self._model = choose_model(models, model, self._http.url)
        self._context_tokens = min(context_tokens, self._served_context() or context_tokens)
        self._pool = ThreadPoolExecutor(parallel, thread_name_prefix="server-engine")
        self._count = lru_cache(_KEPT_COUNTS)(self._count_text)
        self._tokenizers: tuple[str, ...] = _TOKENIZERS

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply of one request may fill together."""
        return self._context_tokens

    @property
    def model_id(self) -> str:
        """The model as the server names it, and its size if it tells."""
        return self._model.identity

    @property
    def model(self) -> ServedModel:
        """The model as the server lists it."""
        return self._model

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt tokens that these turns take at most.

        Counted by the server if it can, else estimated from bytes.
        """
        return sum(self._count(turn.content) + _TURN_TOKENS for turn in messages) + _TURN_TOKENS

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer each request, in the order given, all at once as far as the pool allows.

        Raises `ArigraphError` when the server fails for good, refuses, or ignores a grammar, and
        `UsageError` for a request with options.
        """
        if len(requests) == 1:
            return [self._answer(requests[0])]
        running = [self._pool.submit(self._answer, request) for request in requests]
        try:
            return [future.result() for future in running]
        except BaseException:
            for future in running:
                future.cancel()
            raise

    async def agenerate(self, request: Request) -> Completion:
        """Answer one request without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, request)

    def close(self) -> None:
        """Break off what is under way. Closing twice is harmless."""
        self._http.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, request: Request) -> Completion:
        if request.options:
            raise UsageError(
                f"task '{request.task}': a served model does not tell how likely given texts are; "
                "let it choose by text or by number"
            )
        started = time.monotonic()
        self._check_room(request)
        limit = request.limits.seconds
        try:
            answer = self._http.post(
                "/v1/chat/completions",
                chat_payload(request, self._model, self._tags),
                seconds=limit or self._reply_seconds,
                retry_timeout=limit is None,
            )
        except HttpTimeoutError:
            if limit is None:
                raise
            return _cut_by_time(request, time.monotonic() - started)
        except HttpRefusedError as refusal:
            raise self._explained(refusal, request) from refusal
        reply = parse_reply(answer, self._http.url)
        return self._completion(request, reply, time.monotonic() - started)

    def _completion(self, request: Request, reply: ChatReply, seconds: float) -> Completion:
        reasoning, text = reply.reasoning, reply.text
        if request.reasoning_tokens and not reasoning:
            reasoning, text = split_reasoning(text, self._tags)
        self._check_grammar(request, text, cut_off=reply.cut_off)
        stop = StopReason.MAX_TOKENS if reply.cut_off else StopReason.END
        if (length := _stopped_at(request, text)) is not None:
            text, stop = text[:length], StopReason.STOPPED
        usage = reply.usage
        return Completion(
            text=text,
            prompt=prompt_text(request.messages),
            tokens=TokenCounts(
                usage.prompt_tokens - reply.reused, reply.reused, usage.completion_tokens
            ),
            seconds=seconds,
            stop=stop,
            reasoning=reasoning,
        )

    def _check_grammar(self, request: Request, text: str, *, cut_off: bool) -> None:
        grammar = request.grammar
        if grammar is None:
            return
        # A reply that the limit cut off may end in the middle of a character.
        fits = begins(grammar, text.rstrip("\ufffd")) if cut_off else matches(grammar, text)
        if not fits:
            raise ArigraphError(
                f"the server {self._http.url} ignored the grammar of task '{request.task}': it "
                f"wrote {text[:80]!r}: a server is needed that takes GBNF grammars, such as "
                "llama-server or vLLM"
            )

    def _check_room(self, request: Request) -> None:
        size = self.count_tokens(request.messages)
        needed = size + request.reasoning_tokens + request.limits.max_tokens
        if needed > self._context_tokens:
            raise ContextOverflowError(
                f"task '{request.task}' needs {needed} tokens ({size} of prompt and "
                f"{needed - size} for the reply), the context holds {self._context_tokens}: set "
                "--context to more, here and on the server"
            )

    def _explained(self, refusal: HttpRefusedError, request: Request) -> ArigraphError:
        if refusal.status == 400 and any(word in refusal.body for word in _OVERFLOW):
            return ContextOverflowError(f"task '{request.task}' does not fit: {refusal}")
        return refusal

    def _served_context(self) -> int | None:
        if self._model.max_model_len is not None:
            return self._model.max_model_len
        try:
            properties = self._http.get("/props")
        except ArigraphError:
            return None
        settings = _field(properties, "default_generation_settings")
        size = _field(settings, "n_ctx")
        return size if isinstance(size, int) and size > 0 else None

    def _count_text(self, text: str) -> int:
        payload = {"model": self._model.id, "content": text, "prompt": text, "input": text}
        while self._tokenizers:
            try:
                answer = self._http.post(self._tokenizers[0], payload, seconds=30.0)
            except HttpRefusedError:
                answer = None
            tokens, count = _field(answer, "tokens"), _field(answer, "count")
            if isinstance(tokens, list):
                return len(tokens)
            if isinstance(count, int):
                return count
            self._tokenizers = self._tokenizers[1:]
        return estimate_upwards(text)


def estimate_upwards(text: str) -> int:
    """Tokens of a text, rather too many: one for every three bytes, at least one a word."""
    size = len(text.encode(errors="replace"))
    return max(-(-size // 3), len(text.split()))


def _stopped_at(request: Request, text: str) -> int | None:
    """The length at which the request's stop condition first holds, None if it never does."""
    if request.stop_when is None or not text:
        return None
    lengths = range(1, len(text) + 1)
    return next((length for length in lengths if request.stop_when(text[:length])), None)


def _cut_by_time(request: Request, seconds: float) -> Completion:
    return Completion(
        text="",
        prompt=prompt_text(request.messages),
        tokens=TokenCounts(),
        seconds=seconds,
        stop=StopReason.SECONDS,
    )


def _field(value: Any, name: str) -> Any:
    """A field of what may be a JSON object."""
    return value.get(name) if isinstance(value, dict) else None
