from __future__ import annotations

import asyncio
import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from served import Answer, Body, chat, serve

from arigraph_local.errors import ArigraphError, ContextOverflowError, UsageError
from arigraph_local.llm.engine import (
    Engine,
    Limits,
    Message,
    Request,
    Sampling,
    StopReason,
    TokenCounts,
)
from arigraph_local.llm.served.json_http import HttpTimeoutError, Retries
from arigraph_local.llm.served.server_engine import ServerEngine, estimate_upwards

REQUEST = Request(
    "act",
    "agent",
    (Message("system", "Rules."), Message("user", "A key.")),
    Limits(16),
    grammar='root ::= "take " [a-z]+',
)
AT_ONCE = Retries(4, 0.0, lambda _: None)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARIGRAPH_API_KEY", raising=False)


def engine_at(url: str, **options: Any) -> ServerEngine:
    return ServerEngine(url, "tiny", **{"retries": AT_ONCE, **options})


def test_is_an_engine_and_sends_what_decides_the_reply() -> None:
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    with serve([chat("take key", usage=usage)]) as served:
        engine: Engine = engine_at(served.url)
        request = replace(REQUEST, sampling=Sampling(0.2, 2**40 + 5, 0.9, 0.05))
        [reply] = engine.generate([request])
        engine.close()
    assert (reply.text, reply.stop) == ("take key", StopReason.END)
    assert reply.tokens == TokenCounts(4, 8, 3)
    assert '"A key."' in reply.prompt
    [body] = served.chats
    assert body["messages"] == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "A key."},
    ]
    assert body["grammar"] == REQUEST.grammar
    assert (body["temperature"], body["top_p"], body["min_p"]) == (0.2, 0.9, 0.05)
    assert 0 <= body["seed"] < 2**32 - 1
    assert body["max_tokens"] == 16
    assert body["top_k"] == 0


def test_vllm_gets_the_grammar_as_structured_output() -> None:
    models = {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 512}]}
    with serve([chat("take key")], v1__models=models) as served:
        engine = engine_at(served.url)
        engine.generate([REQUEST])
    assert engine.context_tokens == 512
    [body] = served.chats
    assert body["structured_outputs"] == {"grammar": REQUEST.grammar}
    assert body["guided_grammar"] == REQUEST.grammar
    assert "grammar" not in body


def test_the_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve([chat("take key"), chat("take key")]) as served:
        engine_at(served.url).generate([REQUEST])
        monkeypatch.setenv("ARIGRAPH_API_KEY", "secret")
        engine_at(served.url).generate([REQUEST])
    sent = [headers.get("Authorization") for path, headers, _ in served.calls if "chat" in path]
    assert sent == [None, "Bearer secret"]


@pytest.mark.parametrize(
    "fault",
    [
        Answer({"error": {"message": "out of memory"}}, status=500),
        Answer({"error": {"message": "Loading model"}}, status=503),
        Answer({"error": "slow down"}, status=429),
        Answer(b"<html>gateway</html>"),
        Answer({"choices": []}, cut=True),
    ],
)
def test_passing_faults_are_tried_again(fault: Answer) -> None:
    with serve([fault, fault, chat("take key")]) as served:
        [reply] = engine_at(served.url).generate([REQUEST])
    assert reply.text == "take key"
    assert len(served.chats) == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            Answer({"error": {"message": "out of\nmemory"}}, status=500),
            "answers 500: out of memory",
        ),
        (Answer(b"<html>gateway</html>"), "answers with no JSON: <html>gateway</html>"),
        (Answer({"choices": []}, cut=True), "cut the connection off"),
    ],
)
def test_a_fault_that_lasts_is_one_line_naming_the_server(fault: Answer, message: str) -> None:
    with serve(lambda _: fault) as served, pytest.raises(ArigraphError) as caught:
        engine_at(served.url).generate([REQUEST])
    assert str(caught.value) == f"the server {served.url} {message} (tried 4 times)"


def test_waits_grow_and_follow_what_the_server_asks() -> None:
    waits: list[float] = []
    slow = Answer({"error": "slow down"}, status=429, headers={"Retry-After": "7"})
    busy = Answer({}, status=503)
    with serve([busy, busy, slow, chat("take key")]) as served:
        engine_at(served.url, retries=Retries(4, 0.5, waits.append)).generate([REQUEST])
    assert waits == [0.5, 1.0, 7.0]


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"error": "no"}, "wants a key: set ARIGRAPH_API_KEY (401)"),
        (404, {"error": {"message": "no such model"}}, "answers 404: no such model"),
        (302, {}, "answers 302: {}"),
    ],
)
def test_a_refusal_is_not_tried_again(status: int, body: Body, message: str) -> None:
    with serve([Answer(body, status=status)]) as served, pytest.raises(ArigraphError) as caught:
        engine_at(served.url).generate([REQUEST])
    assert str(caught.value).endswith(message)
    assert len(served.chats) == 1


def test_a_refused_key_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARIGRAPH_API_KEY", "wrong-key")
    with serve([Answer({}, status=403)]) as served, pytest.raises(ArigraphError) as caught:
        engine_at(served.url).generate([REQUEST])
    assert str(caught.value) == (
        f"the server {served.url} refuses the key in ARIGRAPH_API_KEY (403)"
    )


def test_a_server_that_hangs_is_given_up() -> None:
    with serve(lambda _: Answer({}, hang=1.0)) as served:
        engine = engine_at(served.url, reply_seconds=0.1, retries=Retries(2, 0.0, lambda _: None))
        with pytest.raises(HttpTimeoutError, match=r"did not answer within 0 s \(tried 2 times\)"):
            engine.generate([REQUEST])


def test_a_reply_has_its_own_time_limit_and_no_second_try() -> None:
    with serve(lambda _: Answer({}, hang=1.0)) as served:
        [reply] = engine_at(served.url).generate([replace(REQUEST, limits=Limits(16, 0.1))])
    assert (reply.text, reply.stop) == ("", StopReason.SECONDS)
    assert len(served.chats) == 1


@pytest.mark.parametrize(
    "answer", [{"choices": []}, {"text": "take key"}, [], {"choices": [{"message": None}]}]
)
def test_json_that_is_no_completion_names_the_field(answer: Any) -> None:
    with (
        serve([Answer(answer)]) as served,
        pytest.raises(ArigraphError, match=r"gives no chat completion: (choices|body)"),
    ):
        engine_at(served.url).generate([REQUEST])


def test_an_ignored_grammar_is_noticed() -> None:
    with (
        serve([chat("Sure! take key")]) as served,
        pytest.raises(ArigraphError, match="ignored the grammar of task 'act': it wrote 'Su"),
    ):
        engine_at(served.url).generate([REQUEST])


def test_a_reply_that_the_limit_cut_off_need_only_begin_rightly() -> None:
    cut = [chat("take k", finish="length"), chat("tak", finish="length")]
    with serve([*cut, chat("I take", finish="length")]) as served:
        engine = engine_at(served.url)
        replies = [engine.generate([REQUEST])[0] for _ in range(2)]
        assert {reply.stop for reply in replies} == {StopReason.MAX_TOKENS}
        with pytest.raises(ArigraphError, match="ignored the grammar"):
            engine.generate([REQUEST])


def test_a_stop_condition_shortens_the_reply() -> None:
    request = replace(REQUEST, stop_when=lambda text: text.endswith("ke"))
    with serve([chat("take key")]) as served:
        [reply] = engine_at(served.url).generate([request])
    assert (reply.text, reply.stop) == ("take", StopReason.STOPPED)


def test_many_requests_are_under_way_at_once_and_keep_their_order() -> None:
    together = threading.Barrier(4)

    def reply(body: Body) -> Answer:
        return chat(f"take {body['messages'][-1]['content']}")

    def slow_page(body: Body) -> Body:
        return {}

    with serve(reply, slow=slow_page) as served:
        engine = engine_at(served.url, parallel=4)
        original = engine._http.post

        def post(*given: Any, **named: Any) -> Any:
            if given[0].startswith("/v1"):
                together.wait(5)
            return original(*given, **named)

        engine._http.post = post  # type: ignore[method-assign]
        requests = [replace(REQUEST, messages=(Message("user", name),)) for name in "abcd"]
        assert [c.text for c in engine.generate(requests)] == [f"take {name}" for name in "abcd"]


def test_asynchronous_requests_do_not_hold_each_other_up() -> None:
    with serve(lambda _: chat("take key")) as served:
        engine = engine_at(served.url)

        async def ask() -> list[str]:
            replies = await asyncio.gather(*(engine.agenerate(REQUEST) for _ in range(3)))
            return [reply.text for reply in replies]

        assert asyncio.run(ask()) == ["take key"] * 3


def test_closing_breaks_off_what_is_under_way() -> None:
    with serve(lambda _: Answer({}, hang=5.0)) as served:
        engine = engine_at(served.url)
        failures: list[ArigraphError] = []

        def ask() -> None:
            try:
                engine.generate([REQUEST])
            except ArigraphError as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while not served.chats:
            time.sleep(0.005)
        engine.close()
        engine.close()
        asking.join(3)
    assert len(failures) == 1
    with pytest.raises(ArigraphError, match="is closed"):
        engine.generate([REQUEST])


def test_a_server_that_is_not_there_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ArigraphError) as caught:
        engine_at(url)
    assert str(caught.value) == (
        f"the server {url} refuses the connection: is it running? (tried 4 times)"
    )


def test_a_model_that_is_not_served_is_named_with_those_that_are() -> None:
    models = {"data": [{"id": "/models/tiny-chat.gguf"}, {"id": "big"}]}
    with serve([], v1__models=models) as served:
        for name in ("/models/tiny-chat.gguf", "tiny-chat.gguf", "tiny-chat"):
            assert ServerEngine(served.url, name, retries=AT_ONCE).model.id.startswith("/models")
        with pytest.raises(UsageError, match="unknown model 'tinychat': did you mean"):
            ServerEngine(served.url, "tinychat", retries=AT_ONCE)
    with (
        serve([], v1__models={"data": []}) as served,
        pytest.raises(UsageError, match="serves no model"),
    ):
        engine_at(served.url)
    with (
        serve([], v1__models={"hello": 1}) as served,
        pytest.raises(ArigraphError, match="no OpenAI-compatible server: /v1/models: data"),
    ):
        engine_at(served.url)


def test_the_identity_tells_the_size_where_it_is_known() -> None:
    models = {"data": [{"id": "tiny", "owned_by": "llamacpp", "meta": {"size": 98}}]}
    with serve([], v1__models=models) as served:
        assert engine_at(served.url).model_id == "tiny (served, 98 bytes)"


def test_the_context_is_the_smaller_of_what_is_set_and_what_is_served() -> None:
    props = {"default_generation_settings": {"n_ctx": 1024}}
    with serve([], props=props) as served:
        assert engine_at(served.url, context_tokens=4096).context_tokens == 1024
        assert engine_at(served.url, context_tokens=512).context_tokens == 512
    with serve([], props=["odd"]) as served:
        assert engine_at(served.url, context_tokens=512).context_tokens == 512


def test_tokens_are_counted_by_the_server_once_for_each_text() -> None:
    def tokenize(body: Body) -> Body:
        return {"tokens": body["content"].split()}

    with serve([], tokenize=tokenize) as served:
        engine = engine_at(served.url)
        turns = (Message("system", "one two three"), Message("user", "four"))
        assert engine.count_tokens(turns) == engine.count_tokens(turns) == 4 + 3 * 8
        assert [path for path, _, _ in served.calls].count("/tokenize") == 2


def test_tokens_are_counted_where_llama_cpp_python_counts_them_or_estimated() -> None:
    turns = (Message("user", "four words of text"),)
    with serve([], extras__tokenize__count=lambda body: {"count": 3}) as served:
        assert engine_at(served.url).count_tokens(turns) == 3 + 2 * 8
    with serve([]) as served:
        engine = engine_at(served.url)
        assert engine.count_tokens(turns) == estimate_upwards("four words of text") + 2 * 8
        engine.count_tokens((Message("user", "other"),))
        assert [path for path, _, _ in served.calls].count("/tokenize") == 1


def test_what_does_not_fit_is_refused_here_or_explained() -> None:
    with (
        serve([]) as served,
        pytest.raises(ContextOverflowError, match=r"task 'act' needs .* holds 20: "),
    ):
        engine_at(served.url, context_tokens=20).generate([REQUEST])
    full = {"error": {"message": "the request exceeds the available context size", "type": "x"}}
    with (
        serve([Answer(full, status=400)]) as served,
        pytest.raises(ContextOverflowError, match="task 'act' does not fit: the server"),
    ):
        engine_at(served.url).generate([REQUEST])


def test_reasoning_is_taken_apart_from_the_reply() -> None:
    request = replace(REQUEST, reasoning_tokens=50)
    replies = [
        chat("<think>\nA key!\n</think>\n\ntake key"),
        chat("take key", message={"reasoning_content": "A key!\n"}),
    ]
    with serve(replies) as served:
        engine = engine_at(served.url)
        answers = [engine.generate([request])[0] for _ in range(2)]
    assert {(a.reasoning, a.text) for a in answers} == {("A key!", "take key")}
    assert served.chats[0]["max_tokens"] == 66
    assert served.chats[0]["chat_template_kwargs"] == {"enable_thinking": True}
    assert "</think>" in served.chats[0]["grammar"]


def test_the_grammar_with_reasoning_lets_any_thoughts_precede_the_reply() -> None:
    from arigraph_local.llm.chat.reasoning import ReasoningTags
    from arigraph_local.llm.grammar.token_grammar import matches
    from arigraph_local.llm.served.server_protocol import thinking_grammar

    grammar = thinking_grammar("root ::= [ab] tail\ntail ::= [0-9]", ReasoningTags())
    assert matches(grammar, "<think>\nif x < 3, so <b>\n</think>\n\na1")
    assert matches(grammar, "opened by the prompt</think>\n\nb2")
    assert not matches(grammar, "<think>\nx</think>\n\nc1")
    assert not matches(grammar, "a1")
