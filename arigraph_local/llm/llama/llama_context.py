"""Sequences that are computed in fixed chunks, so that their logits are reproducible.

Logits depend, in the last bits, on how many tokens are decoded together and on what else is in the
same batch or cache stream. So every sequence has its own stream, one sequence is decoded at a time,
and a sequence is a list of chunks, each decoded by one call. Two sequences of equal chunks have
equal logits, whether a chunk was computed now or kept from before.
"""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.llm.llama.chunks import Chunk
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Logits, Span


class LlamaContext:
    """The sequences of a decoder, with the chunks that each of them holds."""

    def __init__(self, decoder: LlamaDecoder) -> None:
        """Takes over a decoder that nothing else uses."""
        self._decoder = decoder
        self._kept: list[list[Chunk]] = [[] for _ in range(decoder.sequences)]

    def free(self) -> None:
        """Release the memory. Freeing twice is harmless."""
        self._decoder.free()

    def kept(self, sequence: int) -> Sequence[Chunk]:
        """The chunks a sequence holds, in order."""
        return self._kept[sequence]

    def clear(self, sequence: int) -> None:
        """Empty a sequence."""
        self._kept[sequence] = []
        self._decoder.remove(sequence)

    def prefill(self, sequence: int, chunks: Sequence[Chunk], *, every: bool = False) -> int:
        """Make a sequence hold exactly `chunks`, computing only what it does not hold yet.

        The last chunk is always computed, because its logits are wanted; with `every`, those after
        each of its tokens. Returns the number of tokens computed. Raises `ArigraphError` when
        llama.cpp fails twice.
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
        if not self._decoder.remove(sequence, _size(kept)):
            self.clear(sequence)
        pending = chunks[len(self._kept[sequence]) :]
        for chunk in pending[:-1]:
            self.decode(sequence, chunk)
        self.decode(sequence, pending[-1], every=every)
        return _size(pending)

    def decode(self, sequence: int, chunk: Chunk, *, every: bool = False) -> None:
        """Append one chunk to a sequence in one computation; its last logits become current."""
        kept = self._kept[sequence]
        if self._try_decode(sequence, chunk, _size(kept), every) != 0:
            self._start_over(sequence, [*kept, chunk], every)
        self._kept[sequence].append(chunk)

    def _start_over(self, sequence: int, chunks: Sequence[Chunk], every: bool) -> None:
        """Compute all chunks into an emptied sequence, and record all but the last."""
        self.clear(sequence)
        position = 0
        for chunk in chunks:
            last = position + len(chunk) == _size(chunks)
            if (code := self._try_decode(sequence, chunk, position, every and last)) != 0:
                error = self._decoder.failure(code)
                self.clear(sequence)
                raise error
            position += len(chunk)
        self._kept[sequence] = list(chunks[:-1])

    def _try_decode(self, sequence: int, chunk: Chunk, position: int, every: bool) -> int:
        return self._decoder.decode([Span(sequence, position, chunk, True, every)])

    def logits(self) -> Logits:
        """Logits after the chunk decoded last; shape (vocabulary,), until the next `decode`."""
        row: Logits = self._decoder.logits()[-1]
        return row

    def every_logits(self) -> Logits:
        """Logits after each token of a chunk decoded with `every`; shape (tokens, vocabulary)."""
        return self._decoder.logits()


def _size(chunks: Sequence[Chunk]) -> int:
    return sum(len(chunk) for chunk in chunks)
