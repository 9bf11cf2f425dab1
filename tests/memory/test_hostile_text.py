"""Quotes, newlines, any Unicode and great length, all the way through the memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_embedder import WordEmbedder

from arigraph_local.llm.engine import Completion, Message, Request, StopReason, TokenCounts
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.settings import MemorySettings

PROMPTS = PromptSet()
TEXT = st.text() | st.sampled_from(
    ['it\'s "the" key', "a\nb", "a\x00b", "\ufeff", "{{ x }}", "<|im_end|>", "]]", "\\", "é" * 9]
)
ITEM = st.tuples(TEXT, TEXT, TEXT)

Item = tuple[str, str, str]


class AnyReply:
    """An engine that says the given triplets, whatever the grammar would bound them to."""

    context_tokens = 1 << 20
    model_id = "any reply"

    def __init__(self, items: list[list[Item]]) -> None:
        self._items = iter(items)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return len(messages)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        pass

    def _answer(self, request: Request) -> Completion:
        extract = request.task == "extract"
        text = json.dumps(next(self._items), ensure_ascii=False) if extract else "none"
        return Completion(text, "prompt", TokenCounts(), 0.0, StopReason.END)


def remember(folder: Path, observations: list[str], items: list[list[Item]], merge: bool) -> None:
    """Learn, search and export; what was learned is found in the graph opened again."""
    replies = [told for text, told in zip(observations, items, strict=True) if text.strip()]
    engine = AnyReply(replies)
    settings = MemorySettings(merge_entities=merge, max_empty_extractions=0)
    path = folder / "graph.kuzu"
    with AriGraph(
        engine, WordEmbedder(), KuzuStore(path), prompts=PROMPTS, settings=settings
    ) as memory:
        for text in observations:
            update = memory.update(text)
            assert set(update.learned) <= {fact.triplet for fact in memory.facts()}
        memory.search([*observations, *(part for told in items for item in told for part in item)])
        memory.map()
        for suffix in (".json", ".graphml", ".csv"):
            memory.export(folder / f"graph{suffix}")
        facts, episodes = memory.facts(), memory.episodes()
    with KuzuStore(path) as store:
        assert (store.current(), store.episodes()) == (facts, episodes)


STEPS = st.lists(st.tuples(TEXT, st.lists(ITEM, max_size=2)), min_size=1, max_size=2)


@settings(deadline=None, max_examples=25)
@given(STEPS, st.booleans())
def test_no_text_breaks_learning_searching_or_exporting(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, list[Item]]],
    merge: bool,
) -> None:
    texts, items = [text for text, _ in steps], [told for _, told in steps]
    remember(tmp_path_factory.mktemp("hostile"), texts, items, merge)


@pytest.mark.parametrize("merge", [False, True])
def test_ten_thousand_characters_are_nothing_special(tmp_path: Path, merge: bool) -> None:
    long, words = "x" * 10_000, "key " * 2_500
    items = [[(long, "is in", "box")], [(f"{long}x", "is in", f"{'y' * 10_000}")], []]
    remember(tmp_path, [long, words, f"{words}{long}"], items, merge)
