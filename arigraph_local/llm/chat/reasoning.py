"""The free part before a constrained reply: `<think>…</think>`, bounded, closed by force.

A grammar over the whole reply would forbid a reasoning model to think, and thinking inside the
grammar's strings spoils them. So the reply begins with a free part, without a grammar, that ends
at the model's own closing tag or when its budget is spent; then the grammar begins.

How an engine uses it, for a request with `reasoning_tokens` > 0:

    phase = ReasoningPhase(request.reasoning_tokens, tokenize, tags_in(template))
    needed = prompt + phase.room + limits.max_tokens      # instead of prompt + max_tokens
    append(phase.opening(prompt_text))                    # forced, may be empty
    while not phase.done:
        token = sampler.choose(logits, None, ends)        # no grammar yet
        append(phase.feed(token, piece(token, special=True), end=token in ends))
    # then the reply as ever: the grammar's forced tokens, choose, …

`feed` returns the tokens to decode in place of the chosen one, which is never decoded by itself:
the token, the token and the closing tag, or the closing tag alone. Everything returned is decoded
but belongs to no grammar, to no text and not to `Limits.max_tokens`; it does belong to
`Completion.chunks` and `TokenCounts.generated`, because the cache holds it. `phase.text` becomes
`Completion.reasoning`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Tokenize = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class ReasoningTags:
    """What a model writes around its reasoning, and between it and the reply."""

    open: str = "<think>\n"
    close: str = "</think>"
    after: str = "\n\n"


_KNOWN = (
    ReasoningTags(),
    ReasoningTags("[THINK]", "[/THINK]", ""),
    ReasoningTags("<|START_THINKING|>", "<|END_THINKING|>", ""),
    ReasoningTags("<seed:think>", "</seed:think>", ""),
    ReasoningTags("<reasoning>\n", "</reasoning>", "\n"),
)


def tags_in(template: str | None) -> ReasoningTags:
    """The tags that a chat template speaks of; `<think>` where it speaks of none."""
    known = (tags for tags in _KNOWN if template and tags.close in template)
    return next(known, ReasoningTags())


class ReasoningPhase:
    """Where one reply stands in its free part. Pure logic: it decodes nothing."""

    def __init__(self, budget: int, tokenize: Tokenize, tags: ReasoningTags | None = None) -> None:
        """`budget` bounds the chosen tokens, tags not counted; 0 makes a phase that is done.

        `tokenize` gives the tokens of a text that is not the first of a prompt, control tokens
        recognised.
        """
        self._budget = budget
        self._tokenize = tokenize
        self._tags = tags or ReasoningTags()
        self._close = self._tags.close.encode()
        self._data = b""
        self._chosen = 0
        self.done = budget < 1

    @property
    def text(self) -> str:
        """The reasoning so far, without its tags."""
        return self._data.decode(errors="replace").strip()

    @property
    def room(self) -> int:
        """The most tokens the free part can take, tags included; 0 for a phase that never was."""
        if self._budget < 1:
            return 0
        # Part of a closing tag can take more tokens than the whole, which may be a single one.
        closing = _closing(self._tags)
        ends = (closing[start:] for start in range(len(closing)))
        longest = max(len(self._tokens(end)) for end in ends)
        return self._budget + len(self._tokens(self._tags.open)) + longest

    def opening(self, prompt: str) -> tuple[int, ...]:
        """Tokens to force first: the opening tag, unless the prompt already ends with it."""
        if self.done or prompt.rstrip().endswith(self._tags.open.strip()):
            return ()
        return self._tokens(self._tags.open)

    def feed(self, token: int, piece: bytes, *, end: bool = False) -> tuple[int, ...]:
        """The tokens to decode now that the model chose `token`.

        `piece` is its bytes, control tokens spelt out; `end` tells that it ends a turn.
        """
        self._chosen += 1
        if end:
            return self._force()
        before, found, rest = (self._data + piece).partition(self._close)
        if found and rest.strip():
            # The token runs on into the reply, which the grammar has not seen: close without it.
            return self._force()
        if found:
            self._data = before
            self.done = True
            return (token, *self._tokens(self._tags.after[len(rest) :]))
        self._data += piece
        if self._chosen >= self._budget:
            return (token, *self._force())
        return (token,)

    def _force(self) -> tuple[int, ...]:
        """The closing tag, less what of it stands there already."""
        self.done = True
        written = self._written()
        if not written:
            return self._tokens(_closing(self._tags))
        self._data = self._data[:-written]
        return self._tokens(_closing(self._tags)[1 + written :])

    def _written(self) -> int:
        """Bytes of the closing tag that the text already ends with."""
        lengths = range(len(self._close) - 1, 0, -1)
        return next((n for n in lengths if self._data.endswith(self._close[:n])), 0)

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenize(text)) if text else ()


def _closing(tags: ReasoningTags) -> str:
    return f"\n{tags.close}{tags.after}"


def split_reasoning(text: str, tags: ReasoningTags | None = None) -> tuple[str, str]:
    """Reasoning and reply of a text that has both, tags and the space around them dropped.

    Without an opening tag the text up to the closing one is reasoning, because some templates
    open it in the prompt; without a closing tag there is none.
    """
    tags = tags or ReasoningTags()
    reasoning, closed, reply = text.partition(tags.close)
    if not closed:
        return "", text
    return reasoning.strip().removeprefix(tags.open.strip()).strip(), reply.lstrip()
