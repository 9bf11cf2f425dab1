import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.llm.chat.reasoning import (
    ReasoningPhase,
    ReasoningTags,
    split_reasoning,
    tags_in,
)

END = 256


def tokenize(text: str) -> list[int]:
    """A token is a byte."""
    return list(text.encode())


def spell(tokens: tuple[int, ...]) -> str:
    return bytes(tokens).decode()


def phase_of(budget: int, tags: ReasoningTags | None = None) -> ReasoningPhase:
    return ReasoningPhase(budget, tokenize, tags)


def think(phase: ReasoningPhase, *pieces: str) -> str:
    """What is decoded while the model chooses these pieces, each one token."""
    decoded = ""
    for piece in pieces:
        if phase.done:
            break
        grown = phase.feed(-1, piece.encode())
        decoded += (piece if grown[:1] == (-1,) else "") + spell(
            tuple(token for token in grown if token >= 0)
        )
    return decoded


def test_without_a_budget_there_is_no_free_part() -> None:
    phase = phase_of(0)
    assert phase.done
    assert phase.room == 0
    assert phase.opening("anything") == ()


def test_opens_with_the_tag_unless_the_prompt_has_done_so() -> None:
    assert spell(phase_of(5).opening("<|im_start|>assistant\n")) == "<think>\n"
    assert phase_of(5).opening("<|im_start|>assistant\n<think>\n") == ()
    assert phase_of(5).opening("<|im_start|>assistant\n<think>") == ()


def test_the_model_closes_it_and_the_gap_is_made_up() -> None:
    phase = phase_of(9)
    assert think(phase, "a key", "\n", "</think>") == "a key\n</think>\n\n"
    assert phase.done
    assert phase.text == "a key"


@pytest.mark.parametrize("gap", ["", "\n", "\n\n", "\n\n\n"])
def test_a_closing_token_with_its_own_line_breaks_gets_only_the_missing_ones(gap: str) -> None:
    phase = phase_of(9)
    assert think(phase, "x", f"</think>{gap}") == f"x</think>{gap}" + "\n\n"[len(gap) :]
    assert phase.text == "x"


def test_the_budget_closes_it() -> None:
    phase = phase_of(3)
    assert think(phase, "on", " and", " on", " never") == "on and on\n</think>\n\n"
    assert phase.text == "on and on"


def test_the_budget_may_fall_inside_the_closing_tag() -> None:
    phase = phase_of(3)
    assert think(phase, "so", "</", "thi") == "so</think>\n\n"
    assert phase.text == "so"


def test_ending_the_turn_while_thinking_closes_it_instead() -> None:
    phase = phase_of(9)
    assert think(phase, "hm") == "hm"
    assert spell(phase.feed(END, b"<|im_end|>", end=True)) == "\n</think>\n\n"
    assert phase.done


def test_a_token_that_runs_on_into_the_reply_is_not_taken() -> None:
    phase = phase_of(9)
    assert think(phase, "x", "</th", "ink>[") == "x</think>\n\n"
    assert phase.text == "x"
    phase = phase_of(9)
    assert think(phase, "x", "</think>[") == "x\n</think>\n\n"


def test_tags_are_those_of_the_template() -> None:
    assert tags_in(None) == ReasoningTags()
    assert tags_in("{{ content.split('[/THINK]') }}").open == "[THINK]"
    assert tags_in("{{ content.split('</think>') }}").close == "</think>"


@given(st.text(max_size=80), st.integers(1, 30), st.integers(0, 2**32), st.booleans())
def test_however_it_is_cut_it_closes_once_within_its_room(
    text: str, budget: int, seed: int, closes: bool
) -> None:
    """Any text, cut anywhere, with or without a closing tag, bytes as pieces."""
    draw = random.Random(seed)
    data = (text.replace("</think>", "") + ("</think>" if closes else "")).encode()
    phase = phase_of(budget)
    decoded = b""
    sizes = 0
    while not phase.done:
        cut = draw.randint(1, 6)
        piece, data = data[:cut] or b"?", data[cut:]
        grown = phase.feed(-1, piece)
        sizes += len(grown)
        decoded += b"".join(piece if token == -1 else bytes([token]) for token in grown)
    assert decoded.count(b"</think>") == 1
    assert decoded.rstrip().endswith(b"</think>")
    assert sizes + len(tokenize("<think>\n")) <= phase.room
    assert "</think>" not in phase.text


def test_split_finds_reasoning_and_reply() -> None:
    assert split_reasoning("<think>\na key\n</think>\n\n[]") == ("a key", "[]")
    assert split_reasoning("a key</think>[]") == ("a key", "[]")
    assert split_reasoning("[]") == ("", "[]")
