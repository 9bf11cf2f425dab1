"""One reply as it grows: its tokens in chunks, its text, and why it stopped."""

from __future__ import annotations

import codecs
import time
from typing import Protocol

from arigraph_local.llm.chat.reasoning import ReasoningPhase
from arigraph_local.llm.engine import Completion, Request, StopReason, TokenCounts
from arigraph_local.llm.grammar.sampling import Sampler
from arigraph_local.llm.grammar.token_grammar import Constraint
from arigraph_local.llm.llama.chunks import Chunk, in_chunks
from arigraph_local.llm.llama.llama_decoder import Logits


class Vocabulary(Protocol):
    """What a reply needs of a model."""

    @property
    def ends(self) -> frozenset[int]:
        """Every token that ends a turn."""
        ...

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token."""
        ...


class Reply:
    """Grows by one chosen token at a time, and by those that the grammar then forces."""

    def __init__(
        self,
        request: Request,
        vocabulary: Vocabulary,
        constraint: Constraint | None,
        reasoning: ReasoningPhase,
        *,
        prompt: str,
        chunk_tokens: int,
    ) -> None:
        """`prompt` is the text before the reply. Its time, if limited, runs from now."""
        self.chunks: list[Chunk] = []
        self.text = ""
        self.stop: StopReason | None = None
        self._request = request
        self._vocabulary = vocabulary
        self._constraint = constraint
        self._reasoning = reasoning
        self._prompt = prompt
        self._chunk_tokens = chunk_tokens
        self._count = 0
        self._sampler = Sampler(request.sampling)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._deadline = None
        if request.limits.seconds is not None:
            self._deadline = time.monotonic() + request.limits.seconds
        if request.limits.max_tokens < 1:
            self.stop = StopReason.MAX_TOKENS

    @property
    def greedy(self) -> bool:
        """Whether `extend` is glad of the likeliest token."""
        return self._sampler.greedy

    @property
    def generated(self) -> int:
        """Tokens so far, those of the reasoning included."""
        return sum(len(chunk) for chunk in self.chunks)

    @property
    def reasoning(self) -> str:
        """The text of the free part."""
        return self._reasoning.text

    def completion(self, prompt_tokens: int, computed: int, seconds: float) -> Completion:
        """The reply as it has become, of a prompt of which `computed` tokens were not reused."""
        return Completion(
            text=self.text,
            prompt=self._prompt,
            tokens=TokenCounts(computed, prompt_tokens - computed, self.generated),
            seconds=seconds,
            stop=self.stop or StopReason.END,
            chunks=tuple(self.chunks),
            reasoning=self.reasoning,
        )

    def begin(self) -> list[int]:
        """The tokens that are forced before the first choice, to be decoded; often none."""
        if self.stop is not None:
            return []
        if not self._reasoning.done:
            return self._record(list(self._reasoning.opening(self._prompt)))
        return self._record(self._with_forced([]))

    def extend(self, logits: Logits, best: int | None = None) -> list[int]:
        """Choose one token, add what it forces, and return all that is to be decoded.

        `logits` has shape (vocabulary,); `best` is their argmax if the caller knows it. When the
        reply has stopped, nobody needs to decode what is returned.
        """
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.stop = StopReason.SECONDS
            return []
        ends = self._vocabulary.ends
        if not self._reasoning.done:
            return self._reason(self._sampler.choose(logits, None, ends, best))
        token = self._sampler.choose(logits, self._constraint, ends, best)
        if token in ends:
            self.stop = StopReason.END
            return []
        self._take(token)
        return self._record(self._with_forced([token]))

    def _reason(self, token: int) -> list[int]:
        piece = self._vocabulary.piece(token, special=True)
        tokens = list(self._reasoning.feed(token, piece, end=token in self._vocabulary.ends))
        return self._record(self._with_forced(tokens) if self._reasoning.done else tokens)

    def _with_forced(self, tokens: list[int]) -> list[int]:
        """`tokens` and what the grammar leaves no choice about after them."""
        if self._constraint is None or self.stop is not None:
            return tokens
        for token in self._constraint.forced():
            if not self._constraint.try_consume(token):
                break
            tokens.append(token)
            self._take(token)
            if self.stop is not None:
                break
        return tokens

    def _record(self, tokens: list[int]) -> list[int]:
        self.chunks += in_chunks(tokens, self._chunk_tokens)
        return tokens

    def _take(self, token: int) -> None:
        self.text += self._decoder.decode(self._vocabulary.piece(token))
        self._count += 1
        request = self._request
        if self._constraint is not None and self._constraint.finished:
            self.stop = StopReason.END
        elif request.stop_when is not None and request.stop_when(self.text):
            self.stop = StopReason.STOPPED
        elif self._count >= request.limits.max_tokens:
            self.stop = StopReason.MAX_TOKENS
