"""A model that is ready to answer: weights, chat format, vocabulary, and the checks of a request.

What both llama.cpp engines share. They differ in how they compute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.chat.chat_format import choose_format
from arigraph_local.llm.chat.reasoning import ReasoningPhase, ReasoningTags, tags_in
from arigraph_local.llm.engine import Limits, Message, Request
from arigraph_local.llm.files.gguf import read_header
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder
from arigraph_local.llm.llama.llama_model import LlamaModel
from arigraph_local.llm.llama.memory_need import MemoryNeed, cache_bytes
from arigraph_local.llm.llama.model_options import ModelOptions
from arigraph_local.llm.llama.options import TokenisedOptions
from arigraph_local.llm.llama.reply import Reply
from arigraph_local.llm.llama.threads import physical_cores
from arigraph_local.llm.llama.tokenised_prompt import PromptTokeniser, TokenisedPrompt, check_room


@dataclass
class LoadedModel:
    """Make it with `load`. Its methods may be called from many threads."""

    path: Path
    model: LlamaModel
    prompts: PromptTokeniser
    model_id: str
    context_tokens: int
    chunk_tokens: int
    _freed: bool = False
    _using: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        model_id: str,
        context_tokens: int,
        chat_format: str | None,
        chunk_tokens: int,
        model_options: ModelOptions | None = None,
    ) -> Self:
        """Load a GGUF file. The errors are those of `LlamaEngine.load`."""
        _check_positive("context", context_tokens)
        model = LlamaModel(path, name=model_id, options=model_options)
        try:
            model.check_context(context_tokens)
            chat = choose_format(
                chat_format,
                model_id=model_id,
                template=model.chat_template,
                bos=model.text_of([model.bos]),
                eos=model.text_of([model.eos]),
                control=model.control_texts,
            )
            prompts = PromptTokeniser(model, chat, chunk_tokens=chunk_tokens)
        except ArigraphError:
            model.free()
            raise
        return cls(path, model, prompts, model_id, context_tokens, chunk_tokens)

    def decoder(
        self, sequences: int, threads: int | None, options: ContextOptions, *, name: str
    ) -> LlamaDecoder:
        """Memory for `sequences` sequences; `name` is what errors call them.

        The model is freed when this fails.
        """
        threads = physical_cores() if threads is None else threads
        try:
            _check_positive(name, sequences)
            _check_positive("threads", threads)
            return LlamaDecoder(
                self.model,
                context_tokens=self.context_tokens,
                sequences=sequences,
                threads=threads,
                options=options,
                need=lambda: self.need(sequences, options),
            )
        except ArigraphError:
            self.free()
            raise

    def need(self, sequences: int, options: ContextOptions) -> MemoryNeed:
        """Bytes of the weights and of the memory of `sequences` sequences."""
        header = read_header(self.path)
        cache = cache_bytes(header, sequences * self.context_tokens, options)
        return MemoryNeed(self.path.stat().st_size, cache)

    def free(self) -> None:
        """Release the weights. Freeing twice is harmless; nothing else may be called after."""
        with self._using:
            self._freed = True
            self.model.free()

    def tokenise(self, messages: Sequence[Message]) -> TokenisedPrompt:
        """The prompt of these turns. Raises `ArigraphError` if the template refuses them."""
        with self._in_use():
            return self.prompts.tokenise(messages)

    def prepare(self, request: Request, prompt: TokenisedPrompt) -> Callable[[], Reply]:
        """What makes the reply, whose time runs from then; to be called once.

        Raises `ContextOverflowError` if it could outgrow the context, `ModelFileError` if the
        model's file has changed, and `ArigraphError` if the grammar does not compile.
        """
        self.model.check_unchanged()
        phase = ReasoningPhase(request.reasoning_tokens, self._tokenise_inside, self._tags)
        check_room(request, prompt.size, phase.room, self.context_tokens)
        constraint = None
        if request.grammar is not None:
            with self._in_use():
                constraint = self.model.grammars.constraint(request.grammar)
        return partial(
            Reply,
            request,
            self.model,
            constraint,
            phase,
            prompt=prompt.text,
            chunk_tokens=self.chunk_tokens,
        )

    def options(self, request: Request, prompt: TokenisedPrompt) -> TokenisedOptions:
        """The tokens of the request's options.

        Raises `ContextOverflowError` if the longest does not fit in the context or cannot be
        computed at once, and `ModelFileError` if the model's file has changed.
        """
        self.model.check_unchanged()
        with self._in_use():
            tokens = [self._tokenise_inside(option) for option in request.options]
        longest = max(map(len, tokens))
        check_room(replace(request, limits=Limits(longest)), prompt.size, 0, self.context_tokens)
        if longest > self.chunk_tokens:
            raise ContextOverflowError(
                f"task '{request.task}' has an option of {longest} tokens, which is more than the "
                f"{self.chunk_tokens} that are computed at once"
            )
        return TokenisedOptions.of(tokens)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """One thread at a time, and none once the weights are freed."""
        with self._using:
            if self._freed:
                raise ArigraphError(f"the engine of {self.model_id} is closed")
            yield

    def _tokenise_inside(self, text: str) -> list[int]:
        return self.model.tokenize(text, first=False)

    @cached_property
    def _tags(self) -> ReasoningTags:
        return tags_in(self.model.chat_template)


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{name} must be at least 1, not {value}")
