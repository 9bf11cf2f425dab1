"""What a researcher would use without this package: llama-cpp-python's chat completion."""

from __future__ import annotations

from pathlib import Path

import llama_cpp

from arigraph_local.llm.engine import Message, Request
from arigraph_local.llm.llama.threads import physical_cores


class ChatCompletion:
    """`Llama.create_chat_completion` with its GBNF grammar, one request after another."""

    def __init__(self, path: Path, context_tokens: int, threads: int | None) -> None:
        cores = threads or physical_cores()
        self._llama = llama_cpp.Llama(
            model_path=str(path),
            n_ctx=context_tokens,
            n_threads=cores,
            n_threads_batch=cores,
            verbose=False,
        )

    def ask(self, request: Request) -> Message:
        """The reply as a turn."""
        grammar = None
        if request.grammar is not None:
            grammar = llama_cpp.LlamaGrammar.from_string(request.grammar, verbose=False)
        answer = self._llama.create_chat_completion(
            messages=[{"role": turn.role, "content": turn.content} for turn in request.messages],
            grammar=grammar,
            max_tokens=request.limits.max_tokens,
            temperature=request.sampling.temperature,
            seed=request.sampling.seed,
            top_k=0,
            top_p=1.0,
            min_p=0.0,
            repeat_penalty=1.0,
        )
        return Message("assistant", answer["choices"][0]["message"]["content"] or "")

    def close(self) -> None:
        """Free the model."""
        self._llama.close()
