"""Prompt sets: where an error in a template is said to be, and what replies the grammars allow."""

import json
import re
from pathlib import Path

import pytest

from arigraph_local.errors import UsageError
from arigraph_local.llm.grammar.token_grammar import begins, matches
from arigraph_local.llm.prompts import PromptSet


def _set(folder: Path, **files: str) -> PromptSet:
    for name, text in files.items():
        (folder / f"{name}.gbnf.j2").write_text(text)
    return PromptSet(str(folder))


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"act\.gbnf\.j2: missing from the prompt set"):
        _set(tmp_path).grammar("act")


def test_a_missing_included_template_is_named(tmp_path: Path) -> None:
    prompts = _set(tmp_path, act='{% include "words.gbnf.j2" %}')
    with pytest.raises(UsageError, match=r"words\.gbnf\.j2: missing from the prompt set"):
        prompts.grammar("act")


def test_a_syntax_error_is_placed_in_the_included_template(tmp_path: Path) -> None:
    prompts = _set(tmp_path, act='{% include "words.gbnf.j2" %}', words="text ::=\n{% if %}")
    with pytest.raises(UsageError, match=r"words\.gbnf\.j2:2: "):
        prompts.grammar("act")


def test_an_unset_value_is_placed_in_the_included_template(tmp_path: Path) -> None:
    prompts = _set(tmp_path, act='\n{% include "words.gbnf.j2" %}', words="a\n\n{{ words }}")
    with pytest.raises(UsageError, match=r"words\.gbnf\.j2:3: 'words' is undefined"):
        prompts.grammar("act")


def test_an_unset_value_is_placed_in_the_template_itself(tmp_path: Path) -> None:
    prompts = _set(tmp_path, act="a\n{{ actions }}")
    with pytest.raises(UsageError, match=r"act\.gbnf\.j2:2: 'actions' is undefined"):
        prompts.grammar("act")


RATIONALES = [
    "The note says that key 1 opens the teal locker, so I unlock it.",
    "Take it!",
    "Où est la clé? Schlüssel 12 öffnet.",
    "It's a dead-end.",
]


@pytest.mark.parametrize("rationale", RATIONALES)
def test_a_rationale_is_a_sentence(rationale: str) -> None:
    grammar = PromptSet().grammar("act", actions=["go west", 'say "x"'], by_number=False)
    reply = json.dumps({"rationale": rationale, "action": "go west"}, ensure_ascii=False)
    assert matches(grammar, reply)


@pytest.mark.parametrize("rationale", ["1.1.1.1", "aaa.1.1", " go", "go  west", "", "a" * 30])
def test_a_run_of_signs_is_no_rationale(rationale: str) -> None:
    grammar = PromptSet().grammar("act", actions=["go west"], by_number=False)
    assert not matches(grammar, json.dumps({"rationale": rationale, "action": "go west"}))


def test_sentences_end_after_their_words() -> None:
    act = PromptSet().grammar("act", actions=["go west"], by_number=False)
    plan = PromptSet().grammar("plan", standing=0, max_sub_goals=1, max_entities=1)
    for grammar, opening, words in (
        (act, '{"rationale": "', 24),
        (plan, '{"sub_goals": [{"goal": "', 12),
    ):
        sentence = " ".join(["go"] * words)
        assert begins(grammar, f"{opening}{sentence}")
        assert not begins(grammar, f"{opening}{sentence} g")


def test_every_default_grammar_has_bounded_repetition() -> None:
    values = {
        "standing": 2,
        "max_sub_goals": 3,
        "max_entities": 3,
        "actions": ["look"],
        "by_number": False,
        "max_triplets": 4,
    }
    for task in ("plan", "act", "extract"):
        grammar = PromptSet().grammar(task, **values)
        literals_removed = re.sub(r'"(\\.|[^"\\])*"|\[(\\.|[^\]\\])*\]', "", grammar)
        assert not re.search(r"[*+]|\{\d+,\}", literals_removed), task
