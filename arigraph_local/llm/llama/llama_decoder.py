"""A llama.cpp context at its lowest: decode a batch, read logits, hold and move sequences.

Every sequence has a stream of keys and values of its own (`kv_unified` off). On a CPU, attention
looks at every cell of a stream, its own or not: with sixteen conversations in one stream a decode
step took 1.7 times as long as with sixteen streams.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.llama_api import api, first_log_error, forget_log_errors
from arigraph_local.llm.llama.llama_model import LlamaModel

State: TypeAlias = npt.NDArray[np.uint8]
Logits: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Span:
    """Tokens that one decode call appends to a sequence, which holds `start` tokens before.

    `wants_logits` asks for the logits after the last of them, or with `every` after each.
    """

    sequence: int
    start: int
    tokens: Sequence[int]
    wants_logits: bool
    every: bool = False

    @property
    def rows(self) -> int:
        """How many rows of logits it leads to."""
        return len(self.tokens) if self.every else int(self.wants_logits)


class LlamaDecoder:
    """Key-value memory for `sequences` sequences of `context_tokens` tokens, and its computing."""

    def __init__(
        self,
        model: LlamaModel,
        *,
        context_tokens: int,
        sequences: int,
        threads: int,
        options: ContextOptions | None = None,
        need: Callable[[], object] | None = None,
    ) -> None:
        """`need` tells, for the error, how much memory this takes.

        Raises `ArigraphError` when the memory cannot be had.
        """
        options = options or ContextOptions()
        forget_log_errors()
        params = api.llama_context_default_params()
        options.apply(params)
        params.n_ctx = context_tokens * sequences
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified = False
        params.swa_full = True
        self._handle = api.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise ArigraphError(
                f"no memory for {sequences} sequences of {context_tokens} tokens with "
                f"{model.name}{f', which needs {need()}' if need else ''}: {first_log_error()}; "
                "set --context to less, or take a smaller quantisation"
            )
        model.apply_adapters(self._handle)
        self.name = model.name
        self.sequences = sequences
        self.context_tokens = context_tokens
        """Tokens that one sequence can hold."""
        self.batch_tokens = options.batch
        self.whole_only = bool(
            api.llama_model_is_recurrent(model.handle) or api.llama_model_is_hybrid(model.handle)
        )
        """Whether the model's memory cannot drop the end of a sequence, only all of it."""
        self._vocab_size = model.vocab_size
        self._memory = api.llama_get_memory(self._handle)
        self._batch = _BatchArrays(options.batch)
        self._wanted = 0

    def free(self) -> None:
        """Release the memory. Freeing twice is harmless."""
        if self._handle:
            api.llama_free(self._handle)
            self._handle = None

    def decode(self, spans: Sequence[Span]) -> int:
        """Append all spans in one call; 0 when it went well, else llama.cpp's code.

        Give spans by ascending sequence: llama.cpp computes neighbours together. After a code
        that is not 0 the sequences may hold part of their span.
        """
        self._wanted = sum(span.rows for span in spans)
        forget_log_errors()
        return int(api.llama_decode(self._handle, self._batch.filled(spans)))

    def logits(self) -> Logits:
        """Logits of the spans that wanted them, in the order given.

        Shape (rows wanted, vocabulary); a view that the next `decode` overwrites.
        """
        pointer = api.llama_get_logits(self._handle)
        return np.ctypeslib.as_array(pointer, shape=(self._wanted, self._vocab_size))

    def remove(self, sequence: int, start: int = 0) -> bool:
        """Drop the tokens from `start` on; false if this model's memory cannot do that."""
        return bool(api.llama_memory_seq_rm(self._memory, sequence, start or -1, -1))

    def length(self, sequence: int) -> int:
        """Tokens that a sequence holds."""
        return int(api.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def save(self, sequence: int) -> State:
        """A copy of all that a sequence holds."""
        size = int(api.llama_state_seq_get_size(self._handle, sequence))
        # Pages of its own, which go back to the system when the state is forgotten: the heap would
        # keep them.
        state = np.frombuffer(mmap.mmap(-1, size), dtype=np.uint8)
        written = int(api.llama_state_seq_get_data(self._handle, _bytes(state), size, sequence))
        return state[:written]

    def restore(self, sequence: int, state: State) -> bool:
        """Make a sequence hold what was saved; false, with the sequence empty, if that fails."""
        self.remove(sequence)
        if api.llama_state_seq_set_data(self._handle, _bytes(state), state.size, sequence):
            return True
        self.remove(sequence)
        return False

    def failure(self, code: int) -> ArigraphError:
        """The error to raise for a code of `decode`, given right after it."""
        return ArigraphError(f"{self.name} fails to compute (code {code}): {first_log_error()}")


def _bytes(state: State) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


class _BatchArrays:
    """The arrays behind a `llama_batch`, filled by whole spans instead of element by element."""

    def __init__(self, size: int) -> None:
        self._tokens = np.zeros(size, dtype=np.int32)
        self._positions = np.zeros(size, dtype=np.int32)
        self._counts = np.ones(size, dtype=np.int32)
        self._sequences = np.zeros(size, dtype=np.int32)
        self._wanted = np.zeros(size, dtype=np.int8)
        # llama.cpp wants a pointer for each token, as one may belong to several sequences.
        self._pointers = self._sequences.ctypes.data + 4 * np.arange(size, dtype=np.uintp)
        self._batch = api.llama_batch(
            n_tokens=0,
            token=_pointer(self._tokens, api.llama_token),
            embd=None,
            pos=_pointer(self._positions, api.llama_pos),
            n_seq_id=_pointer(self._counts, ctypes.c_int32),
            seq_id=_pointer(self._pointers, ctypes.POINTER(api.llama_seq_id)),
            logits=_pointer(self._wanted, ctypes.c_int8),
        )

    def filled(self, spans: Sequence[Span]) -> Any:
        begin = 0
        for span in spans:
            count = len(span.tokens)
            end = begin + count
            self._tokens[begin:end] = span.tokens
            self._positions[begin:end] = range(span.start, span.start + count)
            self._sequences[begin:end] = span.sequence
            self._wanted[begin:end] = span.every
            self._wanted[end - 1] = span.wants_logits or span.every
            begin = end
        self._batch.n_tokens = begin
        return self._batch


def _pointer(array: npt.NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
