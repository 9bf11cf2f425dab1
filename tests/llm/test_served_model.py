"""The server engine against a real model behind HTTP: ours, and llama-cpp-python's own server."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from served import Answer, Body, Script, chat, serve
from small_model import model_path

from arigraph_local.llm.engine import (
    Engine,
    Limits,
    Message,
    Request,
    Sampling,
    StopReason,
)
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.grammar.token_grammar import matches
from arigraph_local.llm.loading import load_engine
from arigraph_local.llm.served.json_http import Retries
from arigraph_local.llm.served.server_engine import ServerEngine
from arigraph_local.llm.settings import EngineSettings

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"
REQUEST = Request(
    "extract",
    "memory",
    (Message("system", "List facts as triplets."), Message("user", "A key is on the table.")),
    Limits(40),
    grammar=(
        'root ::= "[]" | "[" item (", " item){0,2} "]"\n'
        'item ::= "[\\"" name "\\", \\"" name "\\", \\"" name "\\"]"\n'
        "name ::= [a-z ]{1,16}\n"
    ),
)


@pytest.fixture(autouse=True)
def _model_is_there() -> None:
    model_path()


def _answering(engine: Engine) -> Script:
    """What llama-server does with a request, done by an engine of this process."""
    turn = threading.Lock()

    def answer(body: Body) -> Answer:
        request = Request(
            "served",
            "served",
            tuple(Message(turn["role"], turn["content"]) for turn in body["messages"]),
            Limits(body["max_tokens"]),
            grammar=body.get("grammar"),
            sampling=Sampling(body["temperature"], body["seed"], body["top_p"], body["min_p"]),
        )
        with turn:
            [reply] = engine.generate([request])
        tokens = reply.tokens
        usage = {
            "prompt_tokens": tokens.computed + tokens.reused,
            "completion_tokens": tokens.generated,
            "prompt_tokens_details": {"cached_tokens": tokens.reused},
        }
        finish = "length" if reply.stop is StopReason.MAX_TOKENS else "stop"
        return chat(reply.text, usage=usage, finish=finish)

    return answer


def test_a_served_model_answers_as_it_does_in_this_process() -> None:
    engine = load_engine(MODEL, EngineSettings(context=512))
    requests = [REQUEST, replace(REQUEST, sampling=Sampling(0.8, 7, 0.95, 0.05))]
    expected = engine.generate(requests)
    with serve(_answering(engine)) as served:
        remote = ServerEngine(served.url, "tiny")
        got = remote.generate(requests)
        remote.close()
    engine.close()
    assert [(reply.text, reply.stop) for reply in got] == [
        (reply.text, reply.stop) for reply in expected
    ]
    assert {reply.tokens.computed + reply.tokens.reused for reply in got} == {
        expected[0].tokens.computed + expected[0].tokens.reused
    }


@contextmanager
def _llama_cpp_server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "--model": locate(MODEL, models_folder()).path,
        "--model_alias": "tiny",
        "--n_ctx": 512,
        "--host": "127.0.0.1",
        "--port": port,
    }
    command = [sys.executable, "-m", "llama_cpp.server"]
    for name, value in options.items():
        command += [name, str(value)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def test_the_server_of_llama_cpp_python_answers_within_the_grammar() -> None:
    with _llama_cpp_server() as url:
        engine = ServerEngine(url, "tiny", context_tokens=512, retries=Retries(20, 0.5))
        [reply] = engine.generate([REQUEST])
        counted = engine.count_tokens(REQUEST.messages)
        engine.close()
    assert REQUEST.grammar is not None
    assert reply.stop is StopReason.MAX_TOKENS or matches(REQUEST.grammar, reply.text)
    assert 0 < reply.tokens.computed <= counted
