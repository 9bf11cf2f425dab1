"""The throughput engine: the requests of many episodes computed together.

What else is in a batch decides the last bits of logits, so at near-ties a reply can differ from
the one the same request gets alone. Use `LlamaEngine` where a run must be reproducible.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from arigraph_local.errors import UsageError
from arigraph_local.llm.batched.asked import Asked
from arigraph_local.llm.batched.engine_thread import EngineThread
from arigraph_local.llm.batched.lanes import Decoder
from arigraph_local.llm.batched.scheduler import Scheduler
from arigraph_local.llm.engine import Completion, Message, Request
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.loaded_model import LoadedModel
from arigraph_local.llm.llama.model_options import ModelOptions

_KEPT_SHARE = 8
_KEPT_BYTES = 256 << 20


class BatchedEngine:
    """A GGUF model answering many requests at once. Also a context manager.

    `generate` may be called from many threads, `agenerate` from many coroutines. A cancelled
    `agenerate` stops its reply at the next turn.
    """

    def __init__(self, loaded: LoadedModel, decoder: Decoder, *, kept_bytes: int) -> None:
        """Use `load`; this takes the pieces that it makes."""
        self._loaded = loaded
        self.scheduler = Scheduler(decoder, kept_bytes)
        self._decoder = decoder
        self._thread = EngineThread(self.scheduler, name=loaded.model_id, free=self._free)
        atexit.register(self.close)

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        model_id: str,
        context_tokens: int = 4096,
        sequences: int = 16,
        threads: int | None = None,
        chat_format: str | None = None,
        options: ContextOptions | None = None,
        model_options: ModelOptions | None = None,
        kept_bytes: int | None = None,
    ) -> Self:
        """Load a GGUF file.

        `context_tokens` bounds prompt and reply of one request together; `sequences` is how many
        requests are computed at once, one for each episode that is played; `threads` defaults to
        the physical cores. `kept_bytes` bounds the memory for prompts kept beside the context,
        by default an eighth of the context's. Raises `ModelFileError` (unreadable file, no chat
        template), `UsageError` (unknown chat format, a context larger than the model's) or
        `ArigraphError` (no memory).
        """
        options = options or ContextOptions()
        if sequences > options.batch:
            raise UsageError(f"n_batch {options.batch} is less than the {sequences} episodes")
        loaded = LoadedModel.load(
            path,
            model_id=model_id,
            context_tokens=context_tokens,
            chat_format=chat_format,
            chunk_tokens=options.batch,
            model_options=model_options,
        )
        decoder = loaded.decoder(sequences, threads, options, name="episodes")
        if kept_bytes is None:
            kept_bytes = loaded.need(sequences, options).cache // _KEPT_SHARE or _KEPT_BYTES
        return cls(loaded, decoder, kept_bytes=kept_bytes)

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
        """Answer all requests together; see `Engine.generate`.

        If one fails, the others are given up.
        """
        asked = [Asked(self._loaded, request) for request in requests]
        try:
            for one in asked:
                self._submit(one)
            return [one.completion() for one in asked]
        finally:
            for one in asked:
                one.cancel()

    async def agenerate(self, request: Request) -> Completion:
        """Answer one request without holding up the event loop; the errors are `generate`'s."""
        # Templates and grammars take milliseconds each, which would add up on the loop.
        asked = await asyncio.to_thread(Asked, self._loaded, request)
        try:
            self._submit(asked)
            await asyncio.gather(*(asyncio.wrap_future(job.future) for job in asked.jobs))
        finally:
            asked.cancel()
        return asked.completion()

    def close(self) -> None:
        """Free the model; requests that wait fail. Closing twice is harmless."""
        atexit.unregister(self.close)
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _free(self) -> None:
        self._decoder.free()
        self._loaded.free()

    def _submit(self, asked: Asked) -> None:
        for job in asked.jobs:
            self._thread.submit(job)
