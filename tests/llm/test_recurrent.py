"""Both engines on a real recurrent model, whose memory cannot drop the end of a sequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_mamba import write_tiny_mamba

from arigraph_local.llm.batched.batched_engine import BatchedEngine
from arigraph_local.llm.engine import Limits, Message, Request, Sampling
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Span
from arigraph_local.llm.llama.llama_engine import LlamaEngine

SYSTEM = Message("system", "You list facts. " * 8)
OPTIONS: dict[str, Any] = {
    "model_id": "mamba",
    "context_tokens": 1024,
    "threads": 1,
    "chat_format": "chatml",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mamba") / "tiny.gguf"
    write_tiny_mamba(path)
    return path


def asked(*turns: Message, seed: int = 0) -> Request:
    return Request(
        "task",
        turns[1].content,
        turns,
        Limits(8),
        grammar="root ::= [a-z ]+",
        sampling=Sampling(3.0, seed),
    )


def test_replies_are_those_of_one_by_one_and_openings_are_shared(path: Path) -> None:
    users = [Message("user", text) for text in ("one", "two", "three", "four", "five")]
    requests = [asked(SYSTEM, user, seed=seed) for seed, user in enumerate(users)]
    with (
        LlamaEngine.load(path, conversations=8, **OPTIONS) as one_by_one,
        BatchedEngine.load(path, sequences=3, **OPTIONS) as batched,
    ):
        expected = one_by_one.generate(requests)
        replies = batched.generate(requests)
        assert [reply.text for reply in replies] == [reply.text for reply in expected]
        assert len({reply.text for reply in replies}) > 1
        opening = batched._loaded.tokenise(requests[0].messages).last_turn
        assert [reply.tokens.reused for reply in replies] == [0] + [opening] * 4
        more = asked(SYSTEM, users[4], expected[4].as_message(), Message("user", "more"))
        continued = batched.generate([more])[0]
        assert continued.text == one_by_one.generate([more])[0].text
        assert continued.tokens.reused > batched.count_tokens((SYSTEM, users[4]))
        batched.scheduler.lanes.empty_all()
        assert isinstance(batched._decoder, LlamaDecoder)
        assert [batched._decoder.length(lane) for lane in range(3)] == [0, 0, 0]


def test_a_saved_state_gives_the_same_logits_anywhere(path: Path) -> None:
    with BatchedEngine.load(path, sequences=3, **OPTIONS) as engine:
        decoder = engine._decoder
        assert isinstance(decoder, LlamaDecoder)
        assert decoder.whole_only
        assert decoder.decode([Span(0, 0, range(40, 70), wants_logits=False)]) == 0
        assert decoder.restore(2, decoder.save(0))
        logits = []
        for lane in (0, 2):
            assert decoder.decode([Span(lane, 30, range(80, 90), wants_logits=True)]) == 0
            logits.append(decoder.logits()[0].copy())
        assert np.array_equal(*logits)
        assert np.ptp(logits[0]) > 0
        assert not decoder.remove(0, 35)
