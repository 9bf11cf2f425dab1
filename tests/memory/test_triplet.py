"""Normalised names and triplets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.memory.triplet import Triplet, make_triplet, normalise


def test_case_spaces_articles_and_edge_punctuation_do_not_matter() -> None:
    assert normalise('  The  "Golden\tLocker". ') == "golden locker"


def test_numbers_keep_names_apart() -> None:
    assert normalise("Key 1") != normalise("Key 2")


def test_an_article_alone_or_inside_stays() -> None:
    assert normalise("A") == "a"
    assert normalise("theatre") == "theatre"


def test_empty_parts_and_self_loops_make_no_triplet() -> None:
    assert make_triplet("", "is", "x") is None
    assert make_triplet("the key", "is", "Key") is None


@pytest.mark.parametrize("relation", ["has exit", "hasExit", "has_exit", "Has  Exit:", "has_Exit"])
def test_the_words_of_a_relation_written_as_an_identifier_are_taken_apart(relation: str) -> None:
    assert make_triplet("room a", relation, "west") == Triplet("room a", "has exit", "west")


def test_names_are_left_whole() -> None:
    made = make_triplet("key_1", "is in", "McLocker")
    assert made == Triplet("key_1", "is in", "mclocker")


@given(st.text(), st.text(), st.text())
def test_a_made_triplet_is_whole_and_making_it_again_changes_nothing(
    subject: str, relation: str, object_: str
) -> None:
    made = make_triplet(subject, relation, object_)
    if made is not None:
        assert made.is_whole
        assert make_triplet(made.subject, made.relation, made.object) == made


@given(st.text())
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)
