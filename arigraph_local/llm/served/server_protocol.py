"""What OpenAI-compatible servers are asked and how they answer.

llama-server takes a GBNF `grammar` beside the chat; vLLM takes one as structured output, under
two names by version. Both ignore fields they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arigraph_local.errors import ArigraphError, UsageError, unknown_name
from arigraph_local.llm.chat.reasoning import ReasoningTags
from arigraph_local.llm.engine import Message, Request
from arigraph_local.llm.prompts import gbnf_literal

_SEEDS = 2**32 - 1
_OPEN = ConfigDict(extra="ignore", frozen=True)


class Dialect(StrEnum):
    """How a server is told the grammar."""

    LLAMA = "llama.cpp"
    VLLM = "vLLM"


class _ModelMeta(BaseModel):
    model_config = _OPEN

    size: int | None = None
    n_params: int | None = None


class ServedModel(BaseModel):
    """A model as a server lists it; `max_model_len` is in tokens."""

    model_config = _OPEN

    id: str
    owned_by: str | None = None
    max_model_len: int | None = None
    meta: _ModelMeta | None = None

    @property
    def dialect(self) -> Dialect:
        """How the server of this model is told the grammar."""
        return Dialect.VLLM if self.owned_by == "vllm" else Dialect.LLAMA

    @property
    def identity(self) -> str:
        """The model as recorded in a run: a server gives no checksum, but perhaps its size."""
        size = f", {self.meta.size} bytes" if self.meta and self.meta.size else ""
        return f"{self.id} (served{size})"


class _ModelList(BaseModel):
    model_config = _OPEN

    data: tuple[ServedModel, ...]


class _Answer(BaseModel):
    model_config = _OPEN

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _ChatChoice(BaseModel):
    model_config = _OPEN

    message: _Answer
    finish_reason: str | None = None


class _CachedTokens(BaseModel):
    model_config = _OPEN

    cached_tokens: int | None = None


class _Usage(BaseModel):
    model_config = _OPEN

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    prompt_tokens_details: _CachedTokens | None = None


class ChatReply(BaseModel):
    """The answer to one chat request."""

    model_config = _OPEN

    choices: tuple[_ChatChoice, ...] = Field(min_length=1)
    usage: _Usage = _Usage()

    @property
    def text(self) -> str:
        """What the model wrote, reasoning included if the server left it there."""
        return self.choices[0].message.content or ""

    @property
    def reasoning(self) -> str:
        """The reasoning that the server has taken out of the text."""
        message = self.choices[0].message
        return (message.reasoning_content or message.reasoning or "").strip()

    @property
    def cut_off(self) -> bool:
        """Whether the token limit ended the reply."""
        return self.choices[0].finish_reason == "length"

    @property
    def reused(self) -> int:
        """Prompt tokens that the server had computed before, as far as it tells."""
        details = self.usage.prompt_tokens_details
        cached = details.cached_tokens if details else None
        return min(cached or 0, self.usage.prompt_tokens)


def parse_models(answer: Any, url: str) -> tuple[ServedModel, ...]:
    """The models a server lists. Raises `ArigraphError` if the answer is something else."""
    try:
        return _ModelList.model_validate(answer).data
    except ValidationError as error:
        raise ArigraphError(
            f"{url} is no OpenAI-compatible server: /v1/models: {_at(error)}"
        ) from (error)


def choose_model(models: Sequence[ServedModel], name: str, url: str) -> ServedModel:
    """The model asked for: its id, or the last part of one that is a path.

    Raises `UsageError` naming what is served.
    """
    for model in models:
        path = PurePosixPath(model.id)
        if name in (model.id, path.name, path.stem if path.suffix == ".gguf" else model.id):
            return model
    if not models:
        raise UsageError(f"the server {url} serves no model")
    raise UsageError(f"the server {url}: {unknown_name('model', name, [m.id for m in models])}")


def parse_reply(answer: Any, url: str) -> ChatReply:
    """A server's reply. Raises `ArigraphError` naming the field that is missing or wrong."""
    try:
        return ChatReply.model_validate(answer)
    except ValidationError as error:
        raise ArigraphError(f"the server {url} gives no chat completion: {_at(error)}") from error


def chat_payload(request: Request, model: ServedModel, tags: ReasoningTags) -> dict[str, Any]:
    """The body of `/v1/chat/completions` for a request."""
    sampling = request.sampling
    payload: dict[str, Any] = {
        "model": model.id,
        "messages": chat_messages(request.messages),
        "max_tokens": request.limits.max_tokens + request.reasoning_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "top_k": 0,
        "repeat_penalty": 1.0,
        "seed": sampling.seed % _SEEDS,
        "stream": False,
        "chat_template_kwargs": {"enable_thinking": request.reasoning_tokens > 0},
    }
    if request.grammar is None:
        return payload
    if model.dialect is Dialect.VLLM:
        payload["guided_grammar"] = request.grammar
        payload["structured_outputs"] = {"grammar": request.grammar}
    elif request.reasoning_tokens:
        payload["grammar"] = thinking_grammar(request.grammar, tags)
    else:
        payload["grammar"] = request.grammar
    return payload


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Turns as the API has them."""
    return [{"role": turn.role, "content": turn.content} for turn in messages]


def prompt_text(messages: Sequence[Message]) -> str:
    """The turns as sent; how the server renders them for the model is not known here."""
    return json.dumps(chat_messages(messages), ensure_ascii=False)


def thinking_grammar(grammar: str, tags: ReasoningTags) -> str:
    """The grammar with free reasoning before it, for a server that constrains from the start.

    The opening tag may be missing, because some templates write it into the prompt.
    """
    first, second = (tags.close[index].replace("]", "\\]") for index in (0, 1))
    rules = [
        f"root ::= ({gbnf_literal(tags.open)})? thought* "
        f"{gbnf_literal(tags.close + tags.after)} reply-root",
        f"thought ::= [^{first}] | {gbnf_literal(tags.close[0])} [^{second}]",
    ]
    lines = grammar.splitlines()
    renamed = [
        f"reply-root{line.removeprefix('root')}" if line.startswith("root ") else line
        for line in lines
    ]
    return "\n".join([*rules, *renamed]) + "\n"


def _at(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"
