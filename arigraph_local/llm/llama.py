"""The llama.cpp engine: one request at a time, conversations kept, replies reproducible.

A request's prompt is a list of chunks fixed by its turns alone, never by what happens to be kept:
each turn is tokenised by itself and decoded from its own start, and a reply is decoded in the
chunks it was generated in. So reusing a kept prefix gives the very logits that computing it again
would give.
"""

from __future__ import annotations

import codecs
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.chat import ChatFormat, Part, choose_format
from arigraph_local.llm.engine import Chunks, Completion, Message, Request, StopReason, TokenCounts
from arigraph_local.llm.grammar import Constraint
from arigraph_local.llm.llama_context import Chunk, LlamaContext, in_batches
from arigraph_local.llm.llama_model import LlamaModel
from arigraph_local.llm.sampling import Sampler
from arigraph_local.llm.threads import physical_cores


class LlamaEngine:
    """A GGUF model answering requests in this process. Also a context manager."""

    def __init__(
        self,
        model: LlamaModel,
        context: LlamaContext,
        chat: ChatFormat,
        *,
        model_id: str,
        context_tokens: int,
        conversations: int,
    ) -> None:
        """Use `load`; this takes the pieces that it makes."""
        self._model = model
        self._context = context
        self._chat = chat
        self._model_id = model_id
        self._context_tokens = context_tokens
        self._conversations = conversations
        self._sequences: OrderedDict[str, int] = OrderedDict()

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        model_id: str,
        context_tokens: int = 4096,
        conversations: int = 4,
        threads: int | None = None,
        gpu_layers: int = 0,
        chat_format: str | None = None,
    ) -> Self:
        """Load a GGUF file.

        `context_tokens` bounds prompt and reply of one request together; `conversations` is how
        many kept prefixes there is room for; `threads` defaults to the physical cores;
        `gpu_layers` -1 offloads every layer. Raises `ModelFileError` (unreadable file, no chat
        template), `UsageError` (unknown chat format, a context larger than the model's) or
        `ArigraphError` (no memory).
        """
        threads = physical_cores() if threads is None else threads
        given = {"context": context_tokens, "conversations": conversations, "threads": threads}
        for name, value in given.items():
            if value < 1:
                raise UsageError(f"{name} must be at least 1, not {value}")
        model = LlamaModel(path, name=model_id, gpu_layers=gpu_layers)
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
            context = LlamaContext(
                model,
                context_tokens=context_tokens,
                sequences=conversations,
                threads=threads,
            )
        except ArigraphError:
            model.free()
            raise
        return cls(
            model,
            context,
            chat,
            model_id=model_id,
            context_tokens=context_tokens,
            conversations=conversations,
        )

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply of one request may fill together."""
        return self._context_tokens

    @property
    def model_id(self) -> str:
        """Name and checksum of the model, as recorded in a run."""
        return self._model_id

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt tokens that these turns take, chat template and BOS included."""
        return sum(len(chunk) for chunk in self._prompt(messages)[1])

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer each request, in the order given; see `Engine.generate`."""
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Free the model. Closing twice is harmless."""
        self._context.free()
        self._model.free()

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
        prompt, chunks = self._prompt(request.messages)
        size = sum(len(chunk) for chunk in chunks)
        self._check_room(request, size)
        constraint = None
        if request.grammar is not None:
            constraint = self._model.grammars.constraint(request.grammar)
        sequence = self._sequence(request.conversation)
        computed = self._context.prefill(sequence, chunks)
        reply = _Reply(request, self._model, constraint, started)
        self._decode_reply(sequence, reply)
        return Completion(
            text=reply.text,
            prompt=prompt,
            tokens=TokenCounts(computed, size - computed, reply.count),
            seconds=time.monotonic() - started,
            stop=reply.stop or StopReason.END,
            chunks=tuple(reply.chunks),
        )

    def _decode_reply(self, sequence: int, reply: _Reply) -> None:
        """Generate until the reply stops; its last chunk is left undecoded, as nothing reads it."""
        pending = reply.begin()
        while reply.stop is None:
            for chunk in pending:
                self._context.decode(sequence, chunk)
            pending = reply.extend(self._context)

    def _check_room(self, request: Request, size: int) -> None:
        needed = size + request.limits.max_tokens
        if needed > self._context_tokens:
            raise ContextOverflowError(
                f"task '{request.task}' needs {needed} tokens ({size} of prompt and "
                f"{request.limits.max_tokens} for the reply), the context holds "
                f"{self._context_tokens}: set --context to {needed} or more"
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

    def _prompt(self, messages: Sequence[Message]) -> tuple[str, list[Chunk]]:
        """The prompt's text and the chunks it is decoded in."""
        if not messages:
            raise ArigraphError("a request needs at least one turn")
        text: list[str] = []
        chunks: list[Chunk] = []
        for part in self._chat.parts(messages):
            if part.reply is not None and part.reply.chunks and chunks:
                chunks += part.reply.chunks
                text.append(part.reply.content)
                part = Part((part.closing,))
            tokens = self._tokens(part, first=not chunks)
            text.append(part.text)
            if not chunks and self._model.adds_bos and tokens[:1] != [self._model.bos]:
                tokens.insert(0, self._model.bos)
                text.insert(0, self._model.text_of([self._model.bos]))
            chunks += in_batches(tokens)
        return "".join(text), chunks

    def _tokens(self, part: Part, *, first: bool) -> list[int]:
        tokens: list[int] = []
        for index, piece in enumerate(part.pieces):
            tokens += self._model.tokenize(piece, first=first and index == 0)
        return tokens


class _Reply:
    """One reply as it grows: its tokens in chunks, its text, and why it stopped."""

    def __init__(
        self, request: Request, model: LlamaModel, constraint: Constraint | None, started: float
    ) -> None:
        self.chunks: list[Chunk] = []
        self.text = ""
        self.count = 0
        self.stop: StopReason | None = None
        self._request = request
        self._model = model
        self._constraint = constraint
        self._sampler = Sampler(request.sampling)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._deadline = None
        if request.limits.seconds is not None:
            self._deadline = started + request.limits.seconds
        if request.limits.max_tokens < 1:
            self.stop = StopReason.MAX_TOKENS

    def begin(self) -> Chunks:
        """What the grammar forces before the first choice, as chunks to decode."""
        return self._grow([]) if self.stop is None else ()

    def extend(self, context: LlamaContext) -> Chunks:
        """Choose one token, add what it forces, and return both as chunks to decode."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.stop = StopReason.SECONDS
            return ()
        ends = self._model.ends
        token = self._sampler.choose(context.logits(), self._constraint, ends)
        if token in ends:
            self.stop = StopReason.END
            return ()
        return self._grow([token])

    def _grow(self, tokens: list[int]) -> Chunks:
        for token in tokens:
            self._take(token)
        if self._constraint is not None:
            for token in self._constraint.forced() if self.stop is None else ():
                if not self._constraint.try_consume(token):
                    break
                tokens.append(token)
                self._take(token)
                if self.stop is not None:
                    break
        grown = tuple(in_batches(tokens))
        self.chunks += grown
        return grown

    def _take(self, token: int) -> None:
        self.text += self._decoder.decode(self._model.piece(token))
        self.count += 1
        request = self._request
        if self._constraint is not None and self._constraint.finished:
            self.stop = StopReason.END
        elif request.stop_when is not None and request.stop_when(self.text):
            self.stop = StopReason.STOPPED
        elif self.count >= request.limits.max_tokens:
            self.stop = StopReason.MAX_TOKENS
