"""An engine that says anything its grammar allows."""

from __future__ import annotations

import random
from collections.abc import Sequence

from arigraph_local.llm.engine import Completion, Request, StopReason, TokenCounts
from arigraph_local.llm.grammar.token_grammar import byte_grammars
from arigraph_local.llm.scripted import ScriptedEngine

_END = 256
_QUOTE = ord('"')


class BabblingEngine(ScriptedEngine):
    """Random bytes within each grammar; a share `cut` of the replies is torn off midway."""

    def __init__(self, seed: int, cut: float) -> None:
        super().__init__({})
        self._random = random.Random(seed)
        self._cut = cut

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return [self._babble(request) for request in requests]

    def _babble(self, request: Request) -> Completion:
        assert request.grammar is not None
        data = self._walk(request.grammar)
        stop = StopReason.END
        if self._random.random() < self._cut:
            data = data[: self._random.randrange(len(data) + 1)]
            stop = StopReason.MAX_TOKENS
        text = data.decode(errors="ignore")
        return Completion(text, "prompt", TokenCounts(1, 0, len(data)), 0.0, stop)

    def _walk(self, grammar: str) -> bytes:
        constraint = byte_grammars().constraint(grammar)
        data = bytearray()
        while not constraint.finished:
            allowed = [int(token) for token in constraint.allowed().nonzero()[0]]
            token = self._random.choice(allowed)
            if _QUOTE in allowed and self._random.random() < 0.3:
                token = _QUOTE
            if token == _END:
                break
            assert constraint.try_consume(token)
            data.append(token)
        return bytes(data)
