"""Extraction: what is taken from a reply, whole, cut off, looping, or hostile."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.errors import UsageError
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.extraction import (
    extraction_request,
    opening,
    parse_extraction,
    repeats_itself,
)
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet
from arigraph_local.resources import data_folder

KEY = Triplet("key 1", "is in", "locker")


def reply_of(*items: tuple[str, str, str]) -> str:
    return json.dumps([list(item) for item in items], ensure_ascii=False)


def test_triplets_come_normalised_in_order_without_repeats() -> None:
    reply = reply_of(
        ("The Key 1", "is in", " Locker."), ("a", "b", "c"), ("key 1", "is in", "locker")
    )
    assert parse_extraction(reply).triplets == (KEY, Triplet("a", "b", "c"))


def test_a_cut_off_reply_gives_its_complete_triplets() -> None:
    reply = '[["key 1", "is in", "locker"], ["lamp", "is o'
    assert parse_extraction(reply).triplets == (KEY,)


def test_statements_about_the_player_empty_parts_and_loops_are_refused_with_their_reason() -> None:
    reply = reply_of(("you", "are in", "room a"), ("!", "is", "x"), ("a", "is", "A"))
    extraction = parse_extraction(reply)
    assert extraction.triplets == ()
    assert [item.reason for item in extraction.rejected] == [
        "about the player",
        "empty part or self-loop",
        "empty part or self-loop",
    ]


def test_half_a_surrogate_pair_is_refused() -> None:
    (rejected,) = parse_extraction('[["a\\ud800", "is", "b"]]').rejected
    assert rejected.reason == "not valid Unicode"


def test_a_sentence_posing_as_a_triplet_is_refused() -> None:
    long = ("the note says that you should", "go and read it", "in the room near the hall")
    assert [item.reason for item in parse_extraction(reply_of(long)).rejected] == ["too long"]


def test_a_loop_is_noticed_at_its_first_repeat_only() -> None:
    once = '[["a", "b", "c"], ["d", "e", "f"]'
    assert not repeats_itself(once)
    assert repeats_itself(once + ', ["a", "b", "c"]')
    assert repeats_itself(once + ', ["a", "b", "c"], [')
    assert not repeats_itself(once + ', ["a", "b", "c"')


@given(st.text())
def test_no_reply_breaks_the_parser(reply: str) -> None:
    for triplet in parse_extraction(reply).triplets:
        assert all((triplet.subject, triplet.relation, triplet.object))


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5))
def test_every_triplet_of_a_json_reply_is_taken_or_refused(
    items: list[tuple[str, str, str]],
) -> None:
    extraction = parse_extraction(reply_of(*items))
    assert len(extraction.triplets) + len(extraction.rejected) <= len(items)
    if items:
        assert extraction.triplets or extraction.rejected


def test_the_request_bounds_the_number_of_triplets() -> None:
    request = extraction_request(PromptSet(), MemorySettings(max_triplets=3), (), "A room.")
    assert request.grammar is not None
    assert "{0,2}" in request.grammar
    assert request.sampling.temperature == 0


def test_the_opening_is_computed_in_one_piece() -> None:
    turns = opening(PromptSet())
    assert len(turns) > 2
    assert [turn.joined for turn in turns] == [True] * (len(turns) - 1) + [False]


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ("[[example]\n", "not valid TOML"),
        ('[[example]]\nobservation = "A room."\n', "reply: Field required"),
        ('[[example]]\nobservation = "A room."\nreply = "[]"\nplace = "x"\n', "place: Extra"),
    ],
)
def test_a_faulty_example_is_named(tmp_path: Path, examples: str, expected: str) -> None:
    shutil.copytree(data_folder("prompts") / "default", tmp_path / "mine")
    (tmp_path / "mine" / "extract.examples.toml").write_text(examples)
    with pytest.raises(UsageError, match=r"extract\.examples\.toml") as caught:
        opening(PromptSet(str(tmp_path / "mine")))
    assert expected in str(caught.value)
