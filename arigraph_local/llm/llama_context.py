"""A llama.cpp context of independent sequences that remembers what each one holds.

Logits depend, in the last bits, on how many tokens are decoded together and on what else is in the
same batch or cache stream. So every sequence has its own stream, one sequence is decoded at a time,
and a sequence is a list of chunks, each decoded by one call. Two sequences of equal chunks have
equal logits, whether a chunk was computed now or kept from before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.llama_api import api, first_log_error, forget_log_errors
from arigraph_local.llm.llama_model import LlamaModel

Chunk = tuple[int, ...]

BATCH_TOKENS = 512
"""Most tokens of one decode call; llama.cpp splits no further, so a chunk is one computation."""


def in_batches(tokens: Sequence[int]) -> list[Chunk]:
    """Tokens in chunks of at most `BATCH_TOKENS`, counted from their own start."""
    starts = range(0, len(tokens), BATCH_TOKENS)
    return [tuple(tokens[start : start + BATCH_TOKENS]) for start in starts]


class LlamaContext:
    """Key-value memory for `sequences` conversations of `context_tokens` tokens each."""

    def __init__(
        self, model: LlamaModel, *, context_tokens: int, sequences: int, threads: int
    ) -> None:
        """Raises `ArigraphError` when the memory cannot be had."""
        forget_log_errors()
        params = api.llama_context_default_params()
        params.n_ctx = context_tokens * sequences
        params.n_seq_max = sequences
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified = False
        params.swa_full = True
        self._model = model
        self._handle = api.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise ArigraphError(
                f"no memory for {sequences} conversations of {context_tokens} tokens with "
                f"{model.name}: {first_log_error()}; set --context to less"
            )
        self._memory = api.llama_get_memory(self._handle)
        self._batch = api.llama_batch_init(BATCH_TOKENS, 0, 1)
        self._kept: list[list[Chunk]] = [[] for _ in range(sequences)]

    def free(self) -> None:
        """Release the memory. Freeing twice is harmless."""
        if self._handle:
            api.llama_batch_free(self._batch)
            api.llama_free(self._handle)
            self._handle = None

    def kept(self, sequence: int) -> Sequence[Chunk]:
        """The chunks a sequence holds, in order."""
        return self._kept[sequence]

    def clear(self, sequence: int) -> None:
        """Empty a sequence."""
        self._kept[sequence] = []
        api.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def prefill(self, sequence: int, chunks: Sequence[Chunk]) -> int:
        """Make a sequence hold exactly `chunks`, computing only what it does not hold yet.

        The last chunk is always computed, because its logits are wanted. Returns the number of
        tokens computed. Raises `ArigraphError` when llama.cpp fails twice.
        """
        kept = self._kept[sequence]
        shared = 0
        for old, new in zip(kept, chunks[:-1], strict=False):
            if old != new:
                break
            shared += 1
        del kept[shared:]
        # Also drops what an interrupted call may have left beyond the chunks on record. A model
        # with recurrent state cannot drop a tail; it starts over, in the same chunks.
        if not api.llama_memory_seq_rm(self._memory, sequence, _size(kept), -1):
            self.clear(sequence)
        pending = chunks[len(self._kept[sequence]) :]
        for chunk in pending:
            self.decode(sequence, chunk)
        return _size(pending)

    def decode(self, sequence: int, chunk: Chunk) -> None:
        """Append one chunk to a sequence in one computation; its last logits become current."""
        kept = self._kept[sequence]
        if self._try_decode(sequence, chunk, _size(kept)) != 0:
            self._start_over(sequence, [*kept, chunk])
        self._kept[sequence].append(chunk)

    def _start_over(self, sequence: int, chunks: Sequence[Chunk]) -> None:
        """Compute all chunks into an emptied sequence, and record all but the last."""
        self.clear(sequence)
        forget_log_errors()
        position = 0
        for chunk in chunks:
            if (code := self._try_decode(sequence, chunk, position)) != 0:
                self.clear(sequence)
                raise ArigraphError(
                    f"{self._model.name} fails to compute (code {code}): {first_log_error()}"
                )
            position += len(chunk)
        self._kept[sequence] = list(chunks[:-1])

    def _try_decode(self, sequence: int, chunk: Chunk, position: int) -> int:
        batch = self._batch
        batch.n_tokens = len(chunk)
        for index, token in enumerate(chunk):
            batch.token[index] = token
            batch.pos[index] = position + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = index == len(chunk) - 1
        return int(api.llama_decode(self._handle, batch))

    def logits(self) -> npt.NDArray[np.float32]:
        """Logits after the chunk decoded last; shape (vocabulary,), a copy."""
        pointer = api.llama_get_logits_ith(self._handle, -1)
        view = np.ctypeslib.as_array(pointer, shape=(self._model.vocab_size,))
        return np.array(view, dtype=np.float32)


def _size(chunks: Sequence[Chunk]) -> int:
    return sum(len(chunk) for chunk in chunks)
