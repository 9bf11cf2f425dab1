"""Normalised names and triplets."""

from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.memory.triplet import make_triplet, normalise


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


@given(st.text())
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)
