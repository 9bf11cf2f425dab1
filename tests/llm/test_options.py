"""Replies that are the likeliest of given texts, on every engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import serve
from small_model import SYSTEM, TRIPLETS, USER, model_path
from tiny_mamba import write_tiny_mamba

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.batched.batched_engine import BatchedEngine
from arigraph_local.llm.cached.response_cache import CachedEngine
from arigraph_local.llm.engine import Completion, Engine, Likelihood, Limits, Message, Request
from arigraph_local.llm.llama.llama_engine import LlamaEngine
from arigraph_local.llm.llama.options import TokenisedOptions, log_probabilities
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.llm.served.json_http import Retries
from arigraph_local.llm.served.server_engine import ServerEngine

ACTIONS = ("take key 1", "open the white locker", "go north", "go", "take key 2")
OPTIONS = tuple(f'{{"action": "{action}"}}' for action in ACTIONS)
REQUEST = Request("act", "c", (SYSTEM, USER), Limits(32), options=OPTIONS)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=5))
def test_options_are_what_they_share_and_a_rest_that_is_never_empty(
    options: list[list[int]],
) -> None:
    split = TokenisedOptions.of(options)
    assert [[*split.shared, *rest] for rest in split.rests] == options
    assert all(split.rests)
    firsts = {rest[0] for rest in split.rests}
    assert len(firsts) > 1 or any(len(rest) == 1 for rest in split.rests)


def test_logarithms_of_probabilities_add_up_to_one_however_large_the_logits() -> None:
    logits = np.array([[1e4, 1e4 - 1, -1e4], [0.0, 0.0, 0.0]], dtype=np.float32)
    found = log_probabilities(logits)
    assert np.allclose(np.exp(found).sum(axis=1), 1.0)
    assert math.isclose(found[1][0], -math.log(3))


def test_a_script_says_one_of_the_options() -> None:
    replies = ScriptedEngine({"act": [OPTIONS[2], "go south"]})
    [reply] = replies.generate([REQUEST])
    assert reply.text == OPTIONS[2]
    assert [one.log_probability for one in reply.likelihoods] == [-math.inf] * 2 + [0.0] + [
        -math.inf
    ] * 2
    with pytest.raises(ArigraphError, match="'go south' for task 'act' is no option"):
        replies.generate([REQUEST])


def test_a_served_model_refuses_to_tell() -> None:
    with serve([]) as served:
        engine = ServerEngine(served.url, "tiny", retries=Retries(1, 0.0, lambda _: None))
        with pytest.raises(UsageError, match="'act': a served model does not tell how likely"):
            engine.generate([REQUEST])
        engine.close()


class Given(ScriptedEngine):
    """A script that gives the options likelihoods of its own."""

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        found = (Likelihood(-1.25, 2), Likelihood(-2.5, 3))
        return [replace(reply, likelihoods=found) for reply in super().generate(requests)]


def test_likelihoods_come_from_the_cache_and_other_options_are_another_request(
    tmp_path: Path,
) -> None:
    two, swapped = OPTIONS[:2], OPTIONS[1::-1]
    script = Given({"act": lambda request: request.options[0]})
    engine = CachedEngine(script, tmp_path / "cache")
    [first] = engine.generate([replace(REQUEST, options=two)])
    [again] = engine.generate([replace(REQUEST, options=two)])
    [other] = engine.generate([replace(REQUEST, options=swapped)])
    engine.close()
    assert again.cached
    assert again.likelihoods == first.likelihoods == (Likelihood(-1.25, 2), Likelihood(-2.5, 3))
    assert (other.text, other.cached) == (swapped[0], False)


@pytest.fixture(scope="module")
def one_by_one() -> Iterator[LlamaEngine]:
    with LlamaEngine.load(model_path(), model_id="m", context_tokens=512, threads=1) as engine:
        yield engine


@pytest.fixture(scope="module")
def batched() -> Iterator[BatchedEngine]:
    with BatchedEngine.load(
        model_path(), model_id="m", context_tokens=512, sequences=3, threads=1
    ) as engine:
        yield engine


def by_hand(engine: LlamaEngine, request: Request) -> list[Likelihood]:
    """Every option from the start, one token at a time."""
    loaded, context = engine._loaded, engine._context
    split = loaded.options(request, loaded.tokenise(request.messages))
    found = []
    for rest in split.rests:
        context.clear(0)
        prompt = loaded.tokenise(request.messages).chunks
        context.prefill(0, [*prompt, *([split.shared] if split.shared else [])])
        total = 0.0
        for token in rest:
            total += float(log_probabilities(context.logits())[token])
            context.decode(0, (token,))
        found.append(Likelihood(total, len(rest)))
    context.clear(0)
    return found


def close(found: tuple[Likelihood, ...], wanted: list[Likelihood]) -> bool:
    assert [one.tokens for one in found] == [one.tokens for one in wanted]
    ours = [one.log_probability for one in found]
    return bool(np.allclose(ours, [one.log_probability for one in wanted], atol=0.2))


@pytest.mark.model
@pytest.mark.parametrize("options", [OPTIONS, ACTIONS, OPTIONS[:1], ("a", "a")])
def test_both_engines_find_what_one_token_at_a_time_finds(
    options: tuple[str, ...], one_by_one: LlamaEngine, batched: BatchedEngine
) -> None:
    request = replace(REQUEST, options=options)
    wanted = by_hand(one_by_one, request)
    engines: list[Engine] = [one_by_one, batched]
    for engine in engines:
        [reply] = engine.generate([request])
        assert close(reply.likelihoods, wanted)
        best = max(reply.likelihoods, key=lambda one: one.log_probability)
        assert reply.text == options[reply.likelihoods.index(best)]
        assert reply.prompt.endswith("assistant\n")
        assert reply.tokens.generated == 0
        assert reply.tokens.computed > 0


@pytest.mark.model
def test_a_likelihood_does_not_depend_on_what_is_kept(one_by_one: LlamaEngine) -> None:
    [first] = one_by_one.generate([REQUEST])
    [again] = one_by_one.generate([REQUEST])
    grown = replace(REQUEST, options=(), grammar=TRIPLETS, limits=Limits(8))
    one_by_one.generate([grown])
    [after] = one_by_one.generate([REQUEST])
    one_by_one._context.clear(one_by_one._sequence("c"))
    [anew] = one_by_one.generate([REQUEST])
    assert first.likelihoods == again.likelihoods == after.likelihoods == anew.likelihoods
    assert anew.tokens.reused == 0
    assert again.tokens.computed < anew.tokens.computed


@pytest.mark.model
def test_options_and_replies_are_computed_side_by_side(batched: BatchedEngine) -> None:
    grown = replace(REQUEST, options=(), grammar=TRIPLETS, limits=Limits(24))
    alone = [batched.generate([request])[0] for request in (REQUEST, grown)]
    together = batched.generate([REQUEST, grown, REQUEST, grown])
    assert [reply.text for reply in together] == [reply.text for reply in alone] * 2
    prompt = batched.count_tokens(REQUEST.messages)
    assert all(reply.tokens.computed < 2 * prompt for reply in together)


@pytest.mark.model
def test_an_option_that_does_not_fit_is_refused(
    one_by_one: LlamaEngine, batched: BatchedEngine
) -> None:
    wide = replace(REQUEST, messages=(SYSTEM, Message("user", "key " * 600)))
    engines: list[Engine] = [one_by_one, batched]
    for engine in engines:
        room = engine.context_tokens - engine.count_tokens(REQUEST.messages)
        long = replace(REQUEST, options=(*OPTIONS, "key " * (room + 1)))
        for request in (wide, long):
            with pytest.raises(ContextOverflowError, match=r"^task 'act' needs \d+ tokens"):
                engine.generate([request])


@pytest.mark.model
def test_a_model_that_cannot_drop_tokens_finds_the_same(tmp_path: Path) -> None:
    write_tiny_mamba(tmp_path / "tiny.gguf")
    options: dict[str, Any] = {"model_id": "tiny", "chat_format": "chatml", "threads": 1}
    with (
        LlamaEngine.load(tmp_path / "tiny.gguf", **options) as one,
        BatchedEngine.load(tmp_path / "tiny.gguf", sequences=2, **options) as many,
    ):
        wanted = by_hand(one, REQUEST)
        assert close(one.generate([REQUEST])[0].likelihoods, wanted)
        assert close(many.generate([REQUEST])[0].likelihoods, wanted)
