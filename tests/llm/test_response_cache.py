from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arigraph_local.errors import UsageError
from arigraph_local.llm.cached.reply_store import ReplyStore
from arigraph_local.llm.cached.response_cache import CachedEngine
from arigraph_local.llm.engine import (
    Completion,
    Engine,
    Limits,
    Message,
    Request,
    Sampling,
    StopReason,
    TokenCounts,
)
from arigraph_local.llm.scripted import ScriptedEngine

REQUEST = Request(
    "act",
    "agent",
    (Message("system", "Rules."), Message("user", "A key."), Message("assistant", "ok", ((1, 2),))),
    Limits(16),
    grammar="root ::= [a-z ]+",
)


def never(_: str) -> bool:
    return False


def numbered() -> ScriptedEngine:
    """Answers `reply a`, `reply b`, … to whatever it is asked."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return ScriptedEngine({"act": lambda _: f"reply {next(letters)}"})


def cached(folder: Path, engine: Engine, warnings: list[str] | None = None) -> CachedEngine:
    return CachedEngine(engine, folder / "cache", warn=(warnings or []).append)


def test_an_equal_request_is_answered_from_disk_at_no_cost(tmp_path: Path) -> None:
    engine = numbered()
    with_cache = cached(tmp_path, engine)
    [first] = with_cache.generate([REQUEST])
    [again] = cached(tmp_path, engine).generate([REQUEST])
    assert (first.text, first.cached) == ("reply a", False)
    assert again == replace(first, tokens=TokenCounts(), seconds=0.0, cached=True)
    assert len(engine.requests) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=(*REQUEST.messages[:2], Message("user", "Two keys."))),
        replace(REQUEST, messages=(*REQUEST.messages[:2], Message("user", "ok", ((1, 2),)))),
        replace(REQUEST, messages=(*REQUEST.messages[:2], Message("assistant", "ok"))),
        replace(REQUEST, grammar="root ::= [a-z ]*"),
        replace(REQUEST, limits=Limits(17)),
        replace(REQUEST, sampling=Sampling(0.2)),
        replace(REQUEST, sampling=Sampling(0.0, 1)),
        replace(REQUEST, sampling=Sampling(0.0, 0, 0.9)),
        replace(REQUEST, sampling=Sampling(0.0, 0, 1.0, 0.1)),
        replace(REQUEST, reasoning_tokens=5),
        replace(REQUEST, stop_when=never),
    ],
)
def test_whatever_decides_a_reply_is_part_of_its_key(tmp_path: Path, other: Request) -> None:
    with_cache = cached(tmp_path, numbered())
    assert with_cache.key(REQUEST) != with_cache.key(other)
    assert [c.text for c in with_cache.generate([REQUEST, other])] == ["reply a", "reply b"]
    assert [c.text for c in with_cache.generate([REQUEST, other])] == ["reply a", "reply b"]


def test_model_context_and_variant_are_part_of_the_key(tmp_path: Path) -> None:
    keys = {
        CachedEngine(engine, tmp_path / "cache", variant=variant).key(REQUEST)
        for engine in (
            ScriptedEngine({}, model_id="a"),
            ScriptedEngine({}, model_id="b"),
            ScriptedEngine({}, model_id="b", context_tokens=512),
        )
        for variant in ("", "kv q8_0")
    }
    assert len(keys) == 6


def test_names_time_limits_and_tasks_decide_nothing(tmp_path: Path) -> None:
    with_cache = cached(tmp_path, numbered())
    same = replace(REQUEST, conversation="other", task="plan", limits=Limits(16, 9.0))
    assert with_cache.key(same) == with_cache.key(REQUEST)


def _stops() -> list[Callable[[str], bool]]:
    end = "x"
    return [lambda text: text == "x", lambda text: text.endswith(end)]


@pytest.mark.parametrize("stop_when", _stops())
def test_a_nameless_stop_condition_is_asked_every_time(
    tmp_path: Path, stop_when: Callable[[str], bool]
) -> None:
    with_cache = cached(tmp_path, numbered())
    asked = replace(REQUEST, stop_when=stop_when)
    assert [with_cache.generate([asked])[0].text for _ in range(2)] == ["reply a", "reply b"]


def test_equal_requests_in_one_batch_are_asked_once(tmp_path: Path) -> None:
    engine = numbered()
    other = replace(REQUEST, limits=Limits(9))
    replies = cached(tmp_path, engine).generate([REQUEST, other, REQUEST])
    assert [reply.text for reply in replies] == ["reply a", "reply b", "reply a"]
    assert [reply.cached for reply in replies] == [False, False, True]
    assert len(engine.requests) == 2


def test_a_reply_cut_off_by_time_is_not_kept(tmp_path: Path) -> None:
    class Slow(ScriptedEngine):
        def generate(self, requests: object) -> list[Completion]:
            return [Completion("", "", TokenCounts(), 1.0, StopReason.SECONDS)]

    with_cache = cached(tmp_path, Slow({}))
    assert not any(with_cache.generate([REQUEST])[0].cached for _ in range(2))


def test_asynchronous_requests_are_cached_alike(tmp_path: Path) -> None:
    with_cache = cached(tmp_path, numbered())

    async def ask() -> list[Completion]:
        return [await with_cache.agenerate(REQUEST) for _ in range(2)]

    first, again = asyncio.run(ask())
    assert (first.text, first.cached, again.text, again.cached) == (
        "reply a",
        False,
        "reply a",
        True,
    )


def test_two_processes_share_one_folder(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from arigraph_local.llm.cached.reply_store import ReplyStore;"
        "store = ReplyStore(Path(sys.argv[1]));"
        "[store.put(f'{sys.argv[2]}-{n}', 'x' * 50) for n in range(60)];"
        "store.close()"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "cache"), name])
        for name in ("a", "b")
    ]
    assert [process.wait() for process in running] == [0, 0]
    store = ReplyStore(tmp_path / "cache")
    assert all(store.get(f"{name}-{n}") == "x" * 50 for name in "ab" for n in range(60))


@pytest.mark.parametrize("damage", [b"not a database " * 400, b"SQLite format 3\0" + bytes(900)])
def test_a_damaged_cache_is_set_aside_with_one_line(tmp_path: Path, damage: bytes) -> None:
    first = cached(tmp_path, numbered())
    first.generate([REQUEST])
    first.close()
    (tmp_path / "cache/replies.sqlite").write_bytes(damage)
    warnings: list[str] = []
    engine = numbered()
    with_cache = CachedEngine(engine, tmp_path / "cache", warn=warnings.append)
    with_cache.generate([REQUEST])
    assert with_cache.generate([REQUEST])[0].cached
    assert warnings == [
        f"the response cache {tmp_path / 'cache'} is damaged: set aside as cache.set-aside-1"
    ]


def test_a_cache_damaged_while_it_is_open_is_set_aside(tmp_path: Path) -> None:
    warnings: list[str] = []
    with_cache = CachedEngine(numbered(), tmp_path / "cache", warn=warnings.append)
    with_cache.generate([REQUEST])
    (tmp_path / "cache/replies.sqlite").write_bytes(b"not a database " * 400)
    assert with_cache.generate([REQUEST])[0].text == "reply b"
    assert with_cache.generate([REQUEST])[0].cached
    assert len(warnings) == 1


def test_a_damaged_reply_is_asked_again(tmp_path: Path) -> None:
    with_cache = cached(tmp_path, numbered())
    with_cache.generate([REQUEST])
    with_cache._store.put(with_cache.key(REQUEST) or "", '{"text": 3}')
    assert with_cache.generate([REQUEST])[0].text == "reply b"
    assert with_cache.generate([REQUEST])[0].text == "reply b"


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"response cache .*file/cache cannot be used: "):
        CachedEngine(numbered(), tmp_path / "file" / "cache")


def test_after_closing_nothing_is_found_and_nothing_breaks(tmp_path: Path) -> None:
    with_cache = cached(tmp_path, numbered())
    with_cache.close()
    with_cache.close()
    assert not with_cache.generate([REQUEST])[0].cached


def test_a_store_that_others_may_only_read_is_left_alone(tmp_path: Path) -> None:
    """As on a full or read-only disk: the run goes on without it."""
    warnings: list[str] = []
    store = ReplyStore(tmp_path / "cache", warnings.append)
    store.put("a", "text")
    assert store._connection is not None
    store._connection.execute("PRAGMA query_only = 1")
    store.put("b", "text")
    store.put("c", "text")
    assert store.get("a") is None
    assert len(warnings) == 1
    assert "is off for this run" in warnings[0]


def test_damage_deep_in_a_large_cache_is_found_when_it_is_read(tmp_path: Path) -> None:
    warnings: list[str] = []
    store = ReplyStore(tmp_path / "cache", warnings.append)
    for number in range(300):
        store.put(f"{number:064}", str(number) * 40)
    store.close()
    file = tmp_path / "cache/replies.sqlite"
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    store = ReplyStore(tmp_path / "cache", warnings.append)
    assert store.get(f"{7:064}") is None
    store.put("new", "text")
    assert store.get("new") == "text"
    assert len(warnings) == 1
