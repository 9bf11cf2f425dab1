"""Chunks: tokens that are computed by one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Chunk: TypeAlias = tuple[int, ...]


def in_chunks(tokens: Sequence[int], most: int) -> list[Chunk]:
    """Tokens in chunks of at most `most`, counted from their own start."""
    return [tuple(tokens[start : start + most]) for start in range(0, len(tokens), most)]
