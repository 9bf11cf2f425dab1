import re
from dataclasses import replace

import pytest

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.engine import Engine, Limits, Message, Request, StopReason, TokenCounts
from arigraph_local.llm.scripted import ScriptedEngine, estimate_tokens

SYSTEM = Message("system", "List facts.")
USER = Message("user", "A key is here.")


def request(task: str, *messages: Message, grammar: str | None = None) -> Request:
    return Request(task, "memory", messages or (SYSTEM, USER), Limits(16), grammar)


def test_is_an_engine_and_answers_in_order() -> None:
    engine: Engine = ScriptedEngine({"extract": ["one", "two"], "act": lambda r: r.task.upper()})
    replies = engine.generate([request("extract"), request("act"), request("extract")])
    assert [reply.text for reply in replies] == ["one", "ACT", "two"]
    assert {reply.stop for reply in replies} == {StopReason.END}


def test_keeps_requests_and_shows_the_prompt() -> None:
    engine = ScriptedEngine({"extract": ["x"]})
    asked = request("extract")
    [reply] = engine.generate([asked])
    assert engine.requests == [asked]
    assert reply.prompt == (
        "<|im_start|>system\nList facts.<|im_end|>\n"
        "<|im_start|>user\nA key is here.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert reply.tokens.computed == engine.count_tokens(asked.messages)


def test_a_following_turn_reuses_the_turns_before_it() -> None:
    engine = ScriptedEngine({"extract": ["x"], "outdated": ["y"]})
    (first,) = engine.generate([request("extract")])
    (second,) = engine.generate(
        [request("outdated", SYSTEM, USER, first.as_message(), Message("user", "Which?"))]
    )
    assert first.tokens.reused == 0
    assert second.tokens.reused == engine.count_tokens((SYSTEM, USER))
    assert second.tokens.generated == 1


@pytest.mark.parametrize("reply", ["7", "", "x1"])
def test_reply_outside_the_grammar_is_refused(reply: str) -> None:
    engine = ScriptedEngine({"act": [reply, "42"]})
    asked = request("act", grammar="root ::= [0-9]{2}")
    with pytest.raises(ArigraphError, match=re.escape(f"reply {reply!r} for task 'act'")):
        engine.generate([asked])
    assert engine.generate([asked])[0].text == "42"


def test_out_of_replies_names_the_task() -> None:
    engine = ScriptedEngine({"plan": []})
    with pytest.raises(ArigraphError, match="out of replies for task 'plan'"):
        engine.generate([request("plan")])
    with pytest.raises(ArigraphError, match="no replies for task 'act'"):
        engine.generate([request("act")])


def test_one_string_is_not_a_list_of_replies() -> None:
    with pytest.raises(ArigraphError, match="'plan' are one string"):
        ScriptedEngine({"plan": "abc"})


def test_context_overflow_names_task_and_figures() -> None:
    engine = ScriptedEngine({"plan": ["x"]}, context_tokens=20)
    size = engine.count_tokens((SYSTEM, USER))
    with pytest.raises(ContextOverflowError, match=rf"'plan' needs {size + 16} tokens.* 20: "):
        engine.generate([request("plan")])


def test_estimate_counts_words_by_their_bytes() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a key is here") == 4
    assert estimate_tokens("inventory") == 3
    assert TokenCounts(1, 2, 3) + TokenCounts(1, 1, 1) == TokenCounts(2, 3, 4)


def test_reasoning_precedes_the_reply_where_it_is_allowed() -> None:
    engine = ScriptedEngine({"act": ["<think>\na key\n</think>\n\n42", "42", "<think>x</think>42"]})
    grammar = "root ::= [0-9]{2}"
    thinking = replace(request("act", grammar=grammar), reasoning_tokens=4)
    replies = engine.generate([thinking, thinking])
    assert [(reply.reasoning, reply.text) for reply in replies] == [("a key", "42"), ("", "42")]
    assert replies[0].tokens.generated == 3
    with pytest.raises(ArigraphError, match="outside its grammar"):
        engine.generate([request("act", grammar=grammar)])


def test_reasoning_longer_than_allowed_is_refused() -> None:
    engine = ScriptedEngine({"act": ["<think>one two three</think>42"]})
    with pytest.raises(ArigraphError, match="reasoning for task 'act' takes 4 tokens, 2 are"):
        engine.generate([replace(request("act"), reasoning_tokens=2)])
