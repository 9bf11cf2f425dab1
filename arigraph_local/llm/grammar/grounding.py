"""Grammars that let a triplet name only what the text names.

A small model invents entities. A grounded grammar limits them to runs of words of the text, to
names already known, and to what the prompt set always allows (`extract.entities.txt`: directions,
states, the inventory); relations are free, or those of `extract.relations.txt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from arigraph_local.errors import UsageError
from arigraph_local.llm.prompts import PromptSet, gbnf_literal

Grounding: TypeAlias = Literal["none", "entities", "entities+relations"]

SPAN_WORDS = 4
"""Most words of a name taken from the text; names of games have one to four."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_BREAK = re.compile(r"[^\w\s'’-]|\n")
_FUNCTION_WORDS = """
a an the this that these those and or but nor of to in on at by for from with into onto as
is are was were be been am it its there here you your i me my he she they them his her their
what which who if so than then not no
"""
_NO_ENDS = frozenset(_FUNCTION_WORDS.split())

_Tree: TypeAlias = dict[str, "_Tree"]
_END = ""
_DEPTH = 16


def extraction_grammar(
    prompts: PromptSet,
    *,
    max_triplets: int,
    texts: Sequence[str] = (),
    names: Sequence[str] = (),
    grounding: Grounding = "none",
    no_repeats: bool = False,
) -> str:
    """The GBNF grammar of an extraction's reply.

    `texts` are what the model reads (observation, action, location), `names` the entities it is
    shown. `no_repeats` asks the engine to refuse a triplet that the reply already has. Raises
    `UsageError` if the prompt set's grammar cannot be grounded.
    """
    values: dict[str, Any] = {"max_triplets": max_triplets}
    if no_repeats:
        values["no_repeats"] = True
    if grounding != "none":
        known = [json.dumps(name, ensure_ascii=False)[1:-1] for name in names if name.strip()]
        values["entities"] = alternatives([*known, *word_spans(texts)])
        values["closed_relations"] = grounding == "entities+relations"
    grammar = prompts.grammar("extract", **values)
    if values.get("entities") and values["entities"] not in grammar:
        raise UsageError(
            f"prompt set '{prompts.name}': extract.gbnf.j2 has no place for `entities`: "
            "it cannot be grounded"
        )
    return grammar


def word_spans(texts: Iterable[str], most_words: int = SPAN_WORDS) -> list[str]:
    """Every run of up to `most_words` words of the texts, in lower case, in order, once.

    A run crosses no punctuation and no line, and neither begins nor ends with a function word.
    """
    spans: dict[str, None] = {}
    for text in texts:
        for clause in _BREAK.split(text.lower()):
            words = _WORD.findall(clause)
            for start in range(len(words)):
                for end in range(start + 1, min(len(words), start + most_words) + 1):
                    if not _NO_ENDS & {words[start], words[end - 1]}:
                        spans[" ".join(words[start:end])] = None
    return list(spans)


def alternatives(names: Iterable[str]) -> str:
    """A GBNF expression for exactly these texts, shared first words written once; "" for none.

    As a tree of words it stays small: a text of 2 KB has a thousand runs of words.
    """
    tree: _Tree = {}
    for name in names:
        branch = tree
        for word in re.split("(?= )", name, maxsplit=_DEPTH):
            branch = branch.setdefault(word, {}) if word else branch
        branch[_END] = {}
    return _expression(tree)


def _expression(tree: _Tree) -> str:
    options = []
    for word, branch in tree.items():
        if word == _END:
            continue
        rest = _expression(branch)
        optional = "?" if _END in branch else ""
        options.append(gbnf_literal(word) + (f" ({rest}){optional}" if rest else ""))
    return " | ".join(options)
