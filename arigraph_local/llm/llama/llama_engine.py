"""The reproducible engine: one request at a time, conversations kept.

A request's prompt is a list of chunks fixed by its turns alone, never by what happens to be kept:
each turn is tokenised by itself and decoded from its own start, and a reply is decoded in the
chunks it was generated in. So reusing a kept prefix gives the very logits that computing it again
would give.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from arigraph_local.llm.engine import Completion, Likelihood, Message, Request, TokenCounts
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.llama_context import LlamaContext
from arigraph_local.llm.llama.loaded_model import LoadedModel
from arigraph_local.llm.llama.model_options import ModelOptions
from arigraph_local.llm.llama.options import likeliest, log_probabilities
from arigraph_local.llm.llama.reply import Reply
from arigraph_local.llm.llama.tokenised_prompt import TokenisedPrompt


class LlamaEngine:
    """A GGUF model answering requests in this process. Also a context manager.

    Many threads may ask at once; they are answered one after another.
    """

    def __init__(self, loaded: LoadedModel, context: LlamaContext, *, conversations: int) -> None:
        """Use `load`; this takes the pieces that it makes."""
        self._loaded = loaded
        self._context = context
        self._conversations = conversations
        self._sequences: OrderedDict[str, int] = OrderedDict()
        self._turn = threading.Lock()

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        model_id: str,
        context_tokens: int = 4096,
        conversations: int = 4,
        threads: int | None = None,
        chat_format: str | None = None,
        options: ContextOptions | None = None,
        model_options: ModelOptions | None = None,
    ) -> Self:
        """Load a GGUF file.

        `context_tokens` bounds prompt and reply of one request together; `conversations` is how
        many kept prefixes there is room for, two for each episode that is played; `threads`
        defaults to the physical cores. Raises `ModelFileError` (unreadable file, no chat
        template), `UsageError` (unknown chat format, a context larger than the model's) or
        `ArigraphError` (no memory).
        """
        options = options or ContextOptions()
        loaded = LoadedModel.load(
            path,
            model_id=model_id,
            context_tokens=context_tokens,
            chat_format=chat_format,
            # llama.cpp computes no more than this at once, and a chunk must be one computation.
            chunk_tokens=options.micro_batch,
            model_options=model_options,
        )
        decoder = loaded.decoder(conversations, threads, options, name="conversations")
        return cls(loaded, LlamaContext(decoder), conversations=conversations)

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply of one request may fill together."""
        return self._loaded.context_tokens

    @property
    def model_id(self) -> str:
        """Name and checksum of the model, as recorded in a run."""
        return self._loaded.model_id

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt tokens that these turns take, chat template and BOS included."""
        return self._loaded.tokenise(messages).size

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer each request, in the order given; see `Engine.generate`."""
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Free the model. Closing twice is harmless."""
        with self._turn:
            self._context.free()
            self._loaded.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, request: Request) -> Completion:
        started = time.monotonic()
        prompt = self._loaded.tokenise(request.messages)
        if request.options:
            with self._turn:
                return self._choose(request, prompt, started)
        with self._turn:
            reply = self._loaded.prepare(request, prompt)()
            computed = self._decode(request.conversation, prompt, reply)
        return reply.completion(prompt.size, computed, time.monotonic() - started)

    def _decode(self, conversation: str, prompt: TokenisedPrompt, reply: Reply) -> int:
        """Generate until the reply stops; its last chunk is left undecoded, as nothing reads it.

        Returns how many tokens of the prompt were computed.
        """
        sequence = self._sequence(conversation)
        computed = self._context.prefill(sequence, prompt.chunks)
        reply.begin()
        decoded = 0
        while reply.stop is None:
            for chunk in reply.chunks[decoded:]:
                self._context.decode(sequence, chunk)
            decoded = len(reply.chunks)
            reply.extend(self._context.logits())
        return computed

    def _choose(self, request: Request, prompt: TokenisedPrompt, started: float) -> Completion:
        """The likeliest option. Each is one computation, after the prompt and what they share."""
        options = self._loaded.options(request, prompt)
        sequence = self._sequence(request.conversation)
        chunks = (*prompt.chunks, *filter(None, [options.shared]))
        computed = self._context.prefill(sequence, chunks)
        reused = prompt.size + len(options.shared) - computed
        first = log_probabilities(self._context.logits())
        found: list[Likelihood] = []
        for rest in options.rests:
            total = float(first[rest[0]])
            if len(rest) > 1:
                computed += self._context.prefill(sequence, (*chunks, rest[:-1]), every=True)
                rows = log_probabilities(self._context.every_logits())
                total += sum(float(row[token]) for row, token in zip(rows, rest[1:], strict=True))
            found.append(Likelihood(total, len(rest)))
        return likeliest(
            request,
            found,
            prompt=prompt.text,
            tokens=TokenCounts(computed, reused, 0),
            seconds=time.monotonic() - started,
        )

    def _sequence(self, conversation: str) -> int:
        """The sequence of a conversation, taken from the least recently used one if need be."""
        if conversation not in self._sequences:
            free = len(self._sequences)
            if free == self._conversations:
                _, free = self._sequences.popitem(last=False)
                self._context.clear(free)
            self._sequences[conversation] = free
        self._sequences.move_to_end(conversation)
        return self._sequences[conversation]
