"""Many requests at once on the real 135M model. What needs no model is in `test_scheduler`."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_model import ACTIONS, SYSTEM, TRIPLETS, USER, model_path

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.batched.batched_engine import BatchedEngine
from arigraph_local.llm.engine import Limits, Message, Request, Sampling, StopReason
from arigraph_local.llm.grammar.token_grammar import matches
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Span

pytestmark = pytest.mark.model

CONTEXT = 256
PATIENCE = 60
LONG = Message("system", "You list facts as: thing, relation, thing. " * 6)


def load(path: Path, **options: Any) -> BatchedEngine:
    chosen = {"model_id": "smollm2", "context_tokens": CONTEXT, "sequences": 4, "threads": 1}
    return BatchedEngine.load(path, **{**chosen, **options})


@pytest.fixture(scope="module")
def engine() -> Iterator[BatchedEngine]:
    with load(model_path()) as loaded:
        yield loaded


def asked(user: str = USER.content, *, tokens: int = 8, **options: Any) -> Request:
    messages = (LONG, Message("user", user))
    return Request("task", "c", messages, Limits(tokens), **options)


def decoder_of(engine: BatchedEngine) -> LlamaDecoder:
    decoder = engine._decoder
    assert isinstance(decoder, LlamaDecoder)
    return decoder


def test_a_list_is_answered_in_its_order_and_each_in_its_grammar(engine: BatchedEngine) -> None:
    requests = [
        asked(f"Room {n}.", tokens=40, grammar=(TRIPLETS, ACTIONS)[n % 2], sampling=Sampling(n % 3))
        for n in range(6)
    ]
    replies = engine.generate(requests)
    for request, reply in zip(requests, replies, strict=True):
        assert request.grammar is not None
        assert reply.stop is StopReason.MAX_TOKENS or matches(request.grammar, reply.text)
        assert request.messages[-1].content in reply.prompt
        assert reply.tokens.generated == sum(map(len, reply.chunks))
        size = reply.tokens.computed + reply.tokens.reused
        assert size == engine.count_tokens(request.messages)
    shared = engine.count_tokens((LONG,))
    assert sum(reply.tokens.reused >= shared - 8 for reply in replies) >= 5


def test_threads_and_coroutines_are_answered_together(engine: BatchedEngine) -> None:
    async def many() -> list[str]:
        requests = [asked(f"Door {n}.", grammar=ACTIONS, tokens=20) for n in range(5)]
        return [reply.text for reply in await asyncio.gather(*map(engine.agenerate, requests))]

    with ThreadPoolExecutor(3) as pool:
        lists = [[asked(f"{n} {m}", grammar=ACTIONS, tokens=20) for m in "ab"] for n in range(3)]
        answered = [pool.submit(engine.generate, requests) for requests in lists]
        texts = asyncio.run(many())
        texts += [reply.text for future in answered for reply in future.result(PATIENCE)]
    assert len(texts) == 11
    assert all(matches(ACTIONS, text) for text in texts)


def test_following_turn_computes_only_what_is_new(engine: BatchedEngine) -> None:
    first = asked("A lamp.", grammar=ACTIONS, tokens=40)
    reply = engine.generate([first])[0]
    engine.generate([asked("Something else.", tokens=1)])
    messages = (*first.messages, reply.as_message(), Message("user", "And then?"))
    second = engine.generate([Request("task", "c", messages, Limits(1))])[0]
    before = engine.count_tokens(first.messages) + reply.tokens.generated
    assert second.tokens.reused == before - len(reply.chunks[-1])
    assert second.prompt.startswith(f"{reply.prompt}{reply.text}<|im_end|>\n<|im_start|>user\n")


def test_limits_are_each_requests_own(engine: BatchedEngine) -> None:
    six = 'root ::= "one two three four five six"'
    stopped, cut, hurried, nothing = engine.generate(
        [
            asked("a", grammar=six, stop_when=lambda text: "three" in text),
            asked("b", tokens=3),
            Request("t", "c", (LONG, Message("user", "c")), Limits(9, seconds=0.0)),
            asked("d", tokens=0),
        ]
    )
    assert (stopped.stop, stopped.text) == (StopReason.STOPPED, "one two three")
    assert (cut.stop, cut.tokens.generated) == (StopReason.MAX_TOKENS, 3)
    assert (hurried.stop, hurried.text) == (StopReason.SECONDS, "")
    assert (nothing.stop, nothing.text) == (StopReason.MAX_TOKENS, "")


def test_reasoning_comes_before_the_reply_and_is_no_part_of_it(engine: BatchedEngine) -> None:
    reply = engine.generate([asked("Think.", grammar=ACTIONS, tokens=20, reasoning_tokens=5)])[0]
    assert matches(ACTIONS, reply.text)
    assert reply.reasoning
    tokens = [token for chunk in reply.chunks for token in chunk]
    spelt = engine._loaded.model.text_of(tokens)
    assert spelt.startswith("<think>")
    assert spelt.endswith(f"</think>\n\n{reply.text}")


def test_a_request_that_does_not_fit_fails_alone(engine: BatchedEngine) -> None:
    async def three() -> list[Any]:
        requests = [asked("x", tokens=tokens) for tokens in (2, CONTEXT, 2)]
        calls = map(engine.agenerate, requests)
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, second, third = asyncio.run(three())
    assert isinstance(second, ContextOverflowError)
    assert f"holds {CONTEXT}: set --context to" in str(second)
    assert first.tokens.generated == third.tokens.generated == 2


def test_an_error_of_stop_when_reaches_its_caller(engine: BatchedEngine) -> None:
    def broken(text: str) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        engine.generate([asked("x", stop_when=broken)])
    assert engine.generate([asked("x", tokens=1)])[0].tokens.generated == 1


def test_a_cancelled_coroutine_frees_its_sequence(engine: BatchedEngine) -> None:
    begun = threading.Event()

    def note(text: str) -> bool:
        begun.set()
        return False

    async def give_up() -> None:
        endless = asked("x", tokens=150, grammar="root ::= [a-z]+", stop_when=note)
        task = asyncio.create_task(engine.agenerate(endless))
        await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    # The next request is answered after the turn in which the cancelled one was dropped.
    engine.generate([asked("y", tokens=1)])
    assert not any(lane.busy for lane in engine.scheduler.lanes._lanes)


def test_failed_computation_is_tried_again(
    engine: BatchedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = decoder_of(engine)
    decode, calls = decoder.decode, 0

    def fails(spans: Sequence[Span]) -> int:
        nonlocal calls
        calls += 1
        return 1 if calls in (2, 3) else decode(spans)

    monkeypatch.setattr(decoder, "decode", fails)
    replies = engine.generate([asked(n, grammar=ACTIONS, tokens=40) for n in "abc"])
    assert all(matches(ACTIONS, reply.text) for reply in replies)
    monkeypatch.setattr(decoder, "decode", lambda spans: -3)
    with pytest.raises(ArigraphError, match=r"smollm2 fails to compute \(code -3\)"):
        engine.generate([asked("d")])


def test_a_saved_sequence_gives_the_same_logits_anywhere(engine: BatchedEngine) -> None:
    decoder = LlamaDecoder(engine._loaded.model, context_tokens=256, sequences=3, threads=1)
    prompt, more = list(range(300, 340)), list(range(500, 510))
    assert decoder.decode([Span(0, 0, prompt, wants_logits=False)]) == 0
    state = decoder.save(0)
    assert decoder.restore(2, state)
    assert decoder.length(2) == len(prompt)
    logits = []
    for sequence in (0, 2):
        assert decoder.decode([Span(sequence, 40, more, wants_logits=True)]) == 0
        logits.append(decoder.logits()[0].copy())
    assert np.array_equal(*logits)
    assert not decoder.restore(1, state[:100])
    assert decoder.length(1) == 0
    decoder.free()


def test_logits_are_given_in_the_order_of_their_spans(engine: BatchedEngine) -> None:
    decoder = LlamaDecoder(engine._loaded.model, context_tokens=256, sequences=5, threads=1)
    prompts = {lane: [300 + lane] * (3 + lane) for lane in (0, 1, 3, 4)}
    alone = []
    for tokens in prompts.values():
        assert decoder.decode([Span(2, 0, tokens, wants_logits=True)]) == 0
        alone.append(decoder.logits()[0].copy())
        decoder.remove(2)
    spans = [Span(lane, 0, tokens, wants_logits=lane != 1) for lane, tokens in prompts.items()]
    assert decoder.decode(spans) == 0
    rows = decoder.logits()
    assert rows.shape == (3, engine._loaded.model.vocab_size)
    likeness = np.corrcoef([*rows, alone[0], alone[2], alone[3]])[:3, 3:]
    assert (np.diag(likeness) > 0.98).all()
    assert likeness.argmax(axis=1).tolist() == [0, 1, 2]
    decoder.free()


def test_bad_options_are_refused() -> None:
    with pytest.raises(UsageError, match="n_batch 32 is less than the 64 episodes"):
        load(model_path(), sequences=64, options=ContextOptions(32, 32))
    with pytest.raises(UsageError, match="episodes must be at least 1, not 0"):
        load(model_path(), sequences=0)


def test_no_memory_tells_how_much_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    from llama_cpp import llama_cpp as api

    monkeypatch.setattr(api, "llama_init_from_model", lambda *_: None)
    needed = r"needs 122 MB \(98 MB of weights, 24 MB of context\).*set --context to less"
    with pytest.raises(ArigraphError, match=f"no memory for 4 sequences of 256 tokens.*{needed}"):
        load(model_path())


def test_a_closed_engine_says_so_and_frees_its_memory(capfd: pytest.CaptureFixture[str]) -> None:
    engine = load(model_path())
    running = threading.Event()

    def note(text: str) -> bool:
        running.set()
        return False

    endless = asked("x", tokens=150, grammar="root ::= [a-z]+", stop_when=note)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(engine.generate, [endless] * 6)
        assert running.wait(PATIENCE)
        engine.close()
        with pytest.raises(ArigraphError, match="engine of smollm2 is closed"):
            waiting.result(PATIENCE)
    for use in (lambda: engine.generate([asked()]), lambda: engine.count_tokens((SYSTEM,))):
        with pytest.raises(ArigraphError, match="engine of smollm2 is closed"):
            use()
    engine.close()
    gc.collect()
    assert capfd.readouterr() == ("", "")
