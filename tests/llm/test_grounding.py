from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.errors import UsageError
from arigraph_local.llm.grammar.grounding import (
    Grounding,
    alternatives,
    extraction_grammar,
    word_spans,
)
from arigraph_local.llm.grammar.token_grammar import byte_grammars, matches
from arigraph_local.llm.prompts import PromptSet

PROMPTS = PromptSet()
TEXT = "You open the wooden chest, revealing a brass coin and a letter."


def grammar(
    grounding: Grounding, texts: list[str] | None = None, names: list[str] | None = None
) -> str:
    return extraction_grammar(
        PROMPTS,
        max_triplets=4,
        texts=[TEXT] if texts is None else texts,
        names=names or [],
        grounding=grounding,
    )


def reply(*triplets: tuple[str, str, str]) -> str:
    return json.dumps([list(triplet) for triplet in triplets], ensure_ascii=False)


def test_without_grounding_the_grammar_is_that_of_the_prompt_set() -> None:
    assert grammar("none") == PROMPTS.grammar("extract", max_triplets=4)
    assert "repeats" not in grammar("none")


def test_entities_are_words_of_the_text_known_names_or_always_allowed() -> None:
    grounded = grammar("entities", names=["old barn"])
    for entity in ("wooden chest", "chest", "brass coin", "old barn", "inventory", "closed"):
        assert matches(grounded, reply((entity, "anything at all", "letter"))), entity
        assert matches(grounded, reply(("letter", "is", entity))), entity
    for entity in ("silver coin", "chest wooden", "the wooden chest", "coin and a", "wood", "che"):
        assert not matches(grounded, reply((entity, "is in", "letter"))), entity
        assert not matches(grounded, reply(("letter", "is in", entity))), entity


def test_relations_too_can_be_held_to_a_list() -> None:
    grounded = grammar("entities+relations")
    assert matches(grounded, reply(("brass coin", "is in", "wooden chest")))
    assert not matches(grounded, reply(("brass coin", "shines on", "wooden chest")))
    assert matches(grammar("entities"), reply(("brass coin", "shines on", "wooden chest")))


def test_an_empty_reply_and_several_triplets_stay_possible() -> None:
    grounded = grammar("entities+relations")
    one = ("brass coin", "is in", "wooden chest")
    assert matches(grounded, "[]")
    assert matches(grounded, reply(one, one, one, one))
    assert not matches(grounded, reply(one, one, one, one, one))


def test_without_any_words_the_names_always_allowed_are_left() -> None:
    grounded = grammar("entities+relations", texts=["...", ""])
    assert matches(grounded, reply(("inventory", "is", "empty")))
    assert not matches(grounded, reply(("chest", "is", "empty")))


def test_spans_cross_no_punctuation_or_line_and_have_no_function_words_at_their_ends() -> None:
    assert word_spans(["The key of Old-Town, the\nred box"]) == [
        "key",
        "key of old-town",
        "old-town",
        "red",
        "red box",
        "box",
    ]
    assert max(len(span.split()) for span in word_spans(["one two three four five six"])) == 4


def test_a_prompt_set_that_cannot_be_grounded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "extract.gbnf.j2").write_text('root ::= "[]"')
    with pytest.raises(UsageError, match=r"extract\.gbnf\.j2 has no place for `entities`"):
        extraction_grammar(
            PromptSet(str(tmp_path)), max_triplets=2, texts=[TEXT], grounding="entities"
        )


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=30))
def test_alternatives_are_exactly_the_names(names: list[str], other: str) -> None:
    present = [name for name in names if name]
    if not (expression := alternatives(names)):
        assert not present
        return
    grammar = f"root ::= {expression}"
    assert all(matches(grammar, name) for name in present)
    assert matches(grammar, other) == (other in present)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_whatever_the_text_the_grammar_compiles_and_allows_its_spans(
    text: str, names: list[str]
) -> None:
    grounded = grammar("entities+relations", texts=[text], names=names)
    for name in [*word_spans([text])[:5], *(name for name in names if name.strip())]:
        assert matches(grounded, reply((name, "is in", "inventory")))


def test_a_long_observation_makes_a_grammar_of_moderate_size() -> None:
    words = [f"{first}{second}ar" for first in "bcdfghjklm" for second in "aeiou"] * 8
    text = ". ".join(" ".join(words[start : start + 9]) for start in range(0, len(words), 9))
    grounded = grammar("entities", texts=[text])
    assert len(text) > 1500
    assert len(grounded) < 20 * len(text)
    assert matches(grounded, reply(("baar bear", "is", "open")))


def test_no_repeats_is_a_line_that_changes_no_reply() -> None:
    watched = extraction_grammar(PROMPTS, max_triplets=4, no_repeats=True)
    assert watched == "# no repeats\n" + grammar("none")
    assert type(byte_grammars().constraint(watched)).__name__ == "NoRepeats"
