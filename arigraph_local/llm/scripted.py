"""An engine that answers from a script: for tests and examples, no model needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.chat.chat_format import ChatFormat, choose_format
from arigraph_local.llm.chat.reasoning import split_reasoning
from arigraph_local.llm.engine import (
    Completion,
    Likelihood,
    Message,
    Request,
    StopReason,
    TokenCounts,
)
from arigraph_local.llm.grammar.token_grammar import matches

Script = Iterable[str] | Callable[[Request], str]
_CONTROL = ("<|im_start|>", "<|im_end|>")


class ScriptedEngine:
    """Answers each task from its own list of replies, or by calling its function.

    A reply must be one the request's grammar allows, so a script cannot say what no model could.
    To a request with `reasoning_tokens`, `<think>…</think>` may precede it, no longer than that.
    Of a request's options it must be one, and is then certain.
    A reply that an iterator gives is used once; a list is used from its start, once each.
    """

    def __init__(
        self,
        replies: Mapping[str, Script],
        *,
        context_tokens: int = 1 << 20,
        model_id: str = "script",
    ) -> None:
        """`replies` maps a task name to its replies in order, or to a function of the request."""
        self._functions: dict[str, Callable[[Request], str]] = {}
        self._lists: dict[str, Iterator[str]] = {}
        for task, script in replies.items():
            if callable(script):
                self._functions[task] = script
            elif isinstance(script, str):
                raise ArigraphError(f"script: the replies for '{task}' are one string, not a list")
            else:
                self._lists[task] = iter(script)
        self._context_tokens = context_tokens
        self._model_id = model_id
        self._chat: ChatFormat = choose_format(
            "chatml", model_id=model_id, template=None, control=_CONTROL
        )
        self._kept: dict[str, list[str]] = {}
        self.requests: list[Request] = []
        """Every request so far, in order."""

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply of one request may fill together."""
        return self._context_tokens

    @property
    def model_id(self) -> str:
        """The name given, as recorded in a run."""
        return self._model_id

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An estimate that needs no vocabulary: see `estimate_tokens`."""
        return sum(estimate_tokens(part) for part in self._chat.render_parts(messages))

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer from the script.

        Raises `ArigraphError` when a task has no reply left or a reply breaks its grammar, and
        `ContextOverflowError` as every engine does.
        """
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: Request) -> Completion:
        self.requests.append(request)
        parts = self._chat.render_parts(request.messages)
        size = sum(map(estimate_tokens, parts))
        needed = size + request.reasoning_tokens + request.limits.max_tokens
        if needed > self._context_tokens:
            raise ContextOverflowError(
                f"task '{request.task}' needs {needed} tokens ({size} of prompt and "
                f"{needed - size} for the reply), the context holds "
                f"{self._context_tokens}: set --context to {needed} or more"
            )
        reasoning, reply = self._thought(request, self._reply(request))
        if request.grammar is not None and not matches(request.grammar, reply):
            raise ArigraphError(
                f"script: the reply {reply!r} for task '{request.task}' is outside its grammar"
            )
        if request.options and reply not in request.options:
            raise ArigraphError(
                f"script: the reply {reply!r} for task '{request.task}' is no option of it"
            )
        reused = self._reuse(request.conversation, parts)
        return Completion(
            text=reply,
            prompt="".join(parts),
            tokens=TokenCounts(size - reused, reused, estimate_tokens(f"{reasoning} {reply}")),
            seconds=0.0,
            stop=StopReason.END,
            reasoning=reasoning,
            likelihoods=tuple(
                Likelihood(0.0 if option == reply else -math.inf, 1) for option in request.options
            ),
        )

    def _thought(self, request: Request, text: str) -> tuple[str, str]:
        """Reasoning and reply, of a request that allows reasoning."""
        if not request.reasoning_tokens:
            return "", text
        reasoning, reply = split_reasoning(text)
        if (size := estimate_tokens(reasoning)) > request.reasoning_tokens:
            raise ArigraphError(
                f"script: the reasoning for task '{request.task}' takes {size} tokens, "
                f"{request.reasoning_tokens} are allowed"
            )
        return reasoning, reply

    def _reply(self, request: Request) -> str:
        if request.task in self._functions:
            return self._functions[request.task](request)
        if request.task not in self._lists:
            raise ArigraphError(f"script: there are no replies for task '{request.task}'")
        reply = next(self._lists[request.task], None)
        if reply is None:
            raise ArigraphError(f"script: out of replies for task '{request.task}'")
        return reply

    def _reuse(self, conversation: str, parts: list[str]) -> int:
        """Tokens of the leading parts this conversation had before; the last is always computed."""
        shared = 0
        for old, new in zip(self._kept.get(conversation, ()), parts[:-1], strict=False):
            if old != new:
                break
            shared += estimate_tokens(new)
        self._kept[conversation] = parts
        return shared


def estimate_tokens(text: str) -> int:
    """Tokens of a text, guessed: a word counts one for every four bytes begun."""
    return sum(-(-len(word.encode(errors="replace")) // 4) for word in text.split())
