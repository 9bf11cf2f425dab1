"""Random requests, given up and failing at random, until something leaks or differs.

`ARIGRAPH_SOAK=2000` for a long run; by default a short one.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Sequence

import pytest
from small_model import GRAMMARS, SYSTEM, model_path

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.batched_engine import BatchedEngine
from arigraph_local.llm.engine import Completion, Limits, Message, Request, Sampling, StopReason
from arigraph_local.llm.grammar.token_grammar import matches
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Span
from arigraph_local.llm.llama.llama_engine import LlamaEngine

REQUESTS = int(os.environ.get("ARIGRAPH_SOAK", "72"))
pytestmark = [pytest.mark.model, pytest.mark.timeout(300 + 2 * REQUESTS)]

AT_ONCE = 24
LANES = 16
THINGS = ("key", "lamp", "old chest", "door to the north")


def random_request(chance: random.Random, history: list[Message], name: str = "c") -> Request:
    """A new conversation, or the next turn of one, with a reply of a few tokens."""
    user = Message("user", f"You see a {chance.choice(THINGS)}.")
    grammar = chance.choice(GRAMMARS)
    return Request(
        "soak",
        name,
        (SYSTEM, *history, user),
        Limits(chance.choice((1, 2, 4, 8))),
        grammar=grammar,
        sampling=Sampling(chance.choice((0.0, 0.8)), chance.randrange(1000)),
    )


def check(request: Request, reply: Completion) -> None:
    if request.grammar is None:
        return
    if reply.stop is StopReason.END:
        assert matches(request.grammar, reply.text)
    else:
        assert reply.stop is StopReason.MAX_TOKENS
        assert reply.tokens.generated == request.limits.max_tokens


class FlakyDecoder:
    """Makes every fifth decode call fail, some of them after half of the work."""

    def __init__(self, decoder: LlamaDecoder, chance: random.Random) -> None:
        self._decode = decoder.decode
        self._chance = chance
        self._calls = 0

    def __call__(self, spans: Sequence[Span]) -> int:
        self._calls += 1
        if self._calls % 5:
            return self._decode(spans)
        if self._chance.random() < 0.5:
            self._decode(spans[: len(spans) // 2 + 1])
        return self._chance.choice((1, 2, -3))


async def converse(engine: BatchedEngine, chance: random.Random, turns: int) -> int:
    """One conversation, some of its replies given up; how many were answered."""
    answered = 0
    history: list[Message] = []
    for _ in range(turns):
        request = random_request(chance, history)
        patience = chance.choice((None, None, None, 0.0, 0.2))
        try:
            reply = await asyncio.wait_for(engine.agenerate(request), patience)
        except TimeoutError:
            continue
        except ArigraphError as error:
            if "fails to compute" not in str(error):
                raise
            continue
        check(request, reply)
        answered += 1
        history = [*request.messages[1:], reply.as_message()] if len(history) < 4 else []
    return answered


def test_nothing_leaks_and_every_reply_obeys_its_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    async def soak(engine: BatchedEngine) -> int:
        turns = max(1, REQUESTS // AT_ONCE)
        conversations = [converse(engine, random.Random(n), turns) for n in range(AT_ONCE)]
        return sum(await asyncio.gather(*conversations))

    path = model_path()
    with BatchedEngine.load(
        path, model_id="m", context_tokens=256, sequences=LANES, kept_bytes=8 << 20
    ) as engine:
        decoder = engine._decoder
        assert isinstance(decoder, LlamaDecoder)
        monkeypatch.setattr(decoder, "decode", FlakyDecoder(decoder, random.Random(0)))
        assert asyncio.run(soak(engine)) > REQUESTS / 3
        monkeypatch.undo()
        # Answered only after those that were given up last have been dropped.
        engine.generate([random_request(random.Random(1), [])])
        lanes = engine.scheduler.lanes
        assert lanes.store.bytes <= 8 << 20
        assert [lane.held for lane in lanes._lanes] == [decoder.length(n) for n in range(LANES)]
        lanes.empty_all()
        assert [decoder.length(n) for n in range(LANES)] == [0] * LANES
        assert lanes.store.bytes == 0


def test_reproducible_replies_do_not_depend_on_other_conversations() -> None:
    """Conversations side by side in one engine, against each by itself in another."""
    episodes, turns = min(16, max(3, REQUESTS // 50)), 2

    def play(engine: LlamaEngine, order: Sequence[int]) -> dict[int, list[str]]:
        chances = {n: random.Random(n) for n in order}
        histories: dict[int, list[Message]] = {n: [] for n in order}
        texts: dict[int, list[str]] = {n: [] for n in order}
        for _ in range(turns):
            for n in order:
                request = random_request(chances[n], histories[n], name=str(n))
                reply = engine.generate([request])[0]
                check(request, reply)
                histories[n] += [request.messages[-1], reply.as_message()]
                texts[n].append(reply.text)
        return texts

    path = model_path()
    many = {"model_id": "m", "context_tokens": 256, "conversations": 16}
    with LlamaEngine.load(path, **many) as engine:  # type: ignore[arg-type]
        mixed = play(engine, range(episodes))
    alone: dict[int, list[str]] = {}
    with LlamaEngine.load(path, model_id="m", context_tokens=256, conversations=1) as engine:
        for n in reversed(range(episodes)):
            alone |= play(engine, [n])
    assert mixed == alone
