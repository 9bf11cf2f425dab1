from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.llm.engine import Sampling
from arigraph_local.llm.grammar.constraint import Constraint
from arigraph_local.llm.grammar.no_repeats import NoRepeats
from arigraph_local.llm.grammar.sampling import Sampler
from arigraph_local.llm.grammar.token_grammar import NO_REPEATS, byte_grammars, matches

END = 256
PAIRS = 'item ::= "[\\"" [ab] "\\", \\"" [ab] "\\"]"'
UP_TO_NINE = f'{NO_REPEATS}\nroot ::= "[]" | "[" item (", " item){{0,8}} "]"\n{PAIRS}'
FREE = (
    f'{NO_REPEATS}\nroot ::= "[]" | "[" item (", " item){{0,8}} "]"\n'
    'item ::= "[\\"" [a-z]+ "\\", \\"" [a-z]+ "\\"]"'
)


def constraint(grammar: str) -> Constraint:
    return byte_grammars().constraint(grammar)


def feed(constraint: Constraint, text: str) -> str:
    """What of a text is taken, byte by byte."""
    taken = ""
    for char in text:
        if not constraint.try_consume(ord(char)):
            break
        taken += char
    return taken


def write(grammar: str, seed: int, most: int = 400) -> str:
    """A reply of a model that likes some letters more than others, the same ones all along."""
    asked = constraint(grammar)
    taste = np.random.default_rng(seed).normal(0, 3, END + 1).astype(np.float32)
    sampler = Sampler(Sampling(1.0, seed))
    reply = ""
    while len(reply) < most and not asked.finished:
        for token in asked.forced():
            if not asked.try_consume(token):
                break
            reply += chr(token)
        if asked.finished:
            break
        token = sampler.choose(taste, asked, frozenset({END}))
        if token == END:
            break
        reply += chr(token)
    return reply


def test_only_a_grammar_that_asks_for_it_is_so_watched() -> None:
    assert isinstance(constraint(UP_TO_NINE), NoRepeats)
    plain = constraint(UP_TO_NINE.removeprefix(NO_REPEATS))
    repeated = '[["a", "b"], ["a", "b"]]'
    assert feed(plain, repeated) == repeated
    assert matches(UP_TO_NINE, repeated)


def test_the_last_way_out_of_a_repeat_is_the_last_token_taken() -> None:
    """What follows `["a", "` decides: `b` would force the repeat."""
    assert feed(constraint(UP_TO_NINE), '[["a", "b"], ["a", "b"]]') == '[["a", "b"], ["a", "'


def test_in_free_strings_the_closing_quote_is_refused_but_not_more_letters() -> None:
    assert feed(constraint(FREE), '[["a", "b"], ["a", "b"]]') == '[["a", "b"], ["a", "b'
    longer = '[["a", "b"], ["a", "bc"]]'
    assert feed(constraint(FREE), longer) == longer


def test_the_mask_allows_exactly_what_is_taken() -> None:
    asked = constraint(UP_TO_NINE)
    feed(asked, '[["a", "b"], ["a", "')
    assert [chr(i) for i in np.flatnonzero(asked.allowed())] == ["a"]
    assert not asked.try_consume(ord("b"))
    assert asked.try_consume(ord("a"))


def test_a_repeat_is_let_through_where_nothing_else_is_left() -> None:
    grammar = f'{NO_REPEATS}\nroot ::= "[" item (", " item){{6}} "]"\n{PAIRS}'
    reply = write(grammar, 1)
    items = json.loads(reply)
    assert len(items) == 7
    assert items[0] != items[1]


def test_escapes_and_brackets_in_strings_are_no_structure() -> None:
    grammar = (
        f'{NO_REPEATS}\nroot ::= "[" item (", " item)* "]"\n'
        'item ::= "[\\"" ([^"\\\\] | "\\\\" .)+ "\\"]"'
    )
    reply = r'[["a\"], [\\"], ["a\"], [\\x"], ["a\"], [\\'
    asked = constraint(grammar)
    assert feed(asked, reply) == reply
    assert not asked.try_consume(ord('"'))


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_no_item_comes_twice_before_all_are_written(seed: int) -> None:
    items = [tuple(item) for item in json.loads(write(UP_TO_NINE, seed))]
    assert len(set(items[:4])) == len(items[:4])


def test_a_name_that_begins_another_leaves_a_way_around_both() -> None:
    """When `key` and `key ring` are both written, `key` leads nowhere new."""
    grammar = (
        f'{NO_REPEATS}\nroot ::= "[" item (", " item)* "]"\n'
        'item ::= "[\\"" ("key" " ring"? | "door") "\\"]"'
    )
    assert feed(constraint(grammar), '[["key ring"], ["key"]') == '[["key ring"], ["key"]'
    assert feed(constraint(grammar), '[["key ring"], ["key"], ["k') == '[["key ring"], ["key"], ["'


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_no_reply_of_free_strings_has_an_item_twice(seed: int) -> None:
    items = re.findall(r"\[\"\w+\", \"\w+\"\]", write(FREE, seed, 120))
    assert len(set(items)) == len(items)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.data())
def test_mask_and_refusal_agree_everywhere(seed: int, data: st.DataObject) -> None:
    reply = write(UP_TO_NINE, seed)
    cut = data.draw(st.integers(0, len(reply)))
    asked = constraint(UP_TO_NINE)
    feed(asked, reply[:cut])
    mask = asked.allowed()
    for token in b'[]", abx\\':
        fresh = constraint(UP_TO_NINE)
        feed(fresh, reply[:cut])
        fresh.allowed()
        assert fresh.try_consume(token) == mask[token]


@pytest.mark.parametrize("text", ["[]", '[["a", "b"]]', '[["a", "b"], ["b", "a"]]'])
def test_replies_without_repeats_end_as_ever(text: str) -> None:
    asked = constraint(UP_TO_NINE)
    assert feed(asked, text) == text
    assert asked.finished
