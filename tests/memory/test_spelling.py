"""Which names may be two spellings of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.memory.learning.spelling import spelling_keys, spelling_ratio
from arigraph_local.memory.triplet import normalise

LEAST = 0.85


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("brass key", "brass-key"),
        ("night stand", "nightstand"),
        ("key 1", "key1"),
        ("key 1", "key_1"),
        ("key 1", "key #1"),
        ("carrot", "carrots"),
        ("chicken breast", "chicken breasts"),
        ("kitchen", "kichen"),
        ("wooden statuette", "wooden statuete"),
        ("lamp", "my lamp"),
        ("cook's knife", "cooks knife"),
        ("café table", "café-table"),
    ],
)
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert spelling_ratio(one, other) >= LEAST
    assert set(spelling_keys(one)) & set(spelling_keys(other)), "they would not be compared"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("key 1", "key 2"),
        ("key 1", "key 11"),
        ("page 12", "page 1 2"),
        ("temperature 5", "temperature -5"),
        ("version 1.5", "version 15"),
        ("key 1", "key"),
        ("key i", "key ii"),
        ("key one", "key two"),
        ("key one", "key 1"),
        ("fourteenth page", "fourteen page"),
        ("locker a", "locker b"),
        ("locker a", "locker"),
        ("box ab", "box a b"),
        ("grade a", "grade a+"),
        ("north exit", "south exit"),
        ("northeast exit", "northwest exit"),
        ("north wall", "northern wall"),
        ("left door", "right door"),
        ("upper shelf", "lower shelf"),
        ("red key", "blue key"),
        ("red pepper", "green pepper"),
        ("cyan locker", "tan locker"),
        ("gold locker", "golden locker"),
        ("locker", "red locker"),
        ("kitchen", "kitchen door"),
        ("apple", "green apple"),
        ("open chest", "opened chest"),
        ("cooked egg", "uncooked egg"),
        ("locked gate", "unlocked gate"),
        ("golden locker", "golden locket"),
        ("table", "cable"),
        ("cellar", "collar"),
        ("kitchen", "kitten"),
        ("battle", "bottle"),
        ("living room", "dining room"),
        ("bathroom", "bedroom"),
        ("key", "keys"),
        ("hat", "cat"),
        ("door kitchen", "kitchen door"),
    ],
)
def test_names_of_two_things(one: str, other: str) -> None:
    assert spelling_ratio(one, other) < LEAST
    assert spelling_ratio(other, one) < LEAST


NAMES = st.lists(
    st.sampled_from(["key", "keys", "1", "12", "a", "locker", "lockers", "loker", "red", "é", "-"]),
    min_size=1,
    max_size=3,
).map(" ".join)


@given(NAMES, NAMES)
def test_the_ratio_is_a_share_and_a_bound_only_hides_what_is_below_it(one: str, other: str) -> None:
    ratio = spelling_ratio(one, other)
    assert 0 <= ratio <= 1
    assert spelling_ratio(one, other, LEAST) == (ratio if ratio >= LEAST else 0.0)


@given(NAMES, NAMES)
def test_names_without_a_key_in_common_are_never_alike(one: str, other: str) -> None:
    if not set(spelling_keys(one)) & set(spelling_keys(other)):
        assert spelling_ratio(one, other) == 0.0


@given(st.text(), st.text())
def test_any_text_can_be_a_name(one: str, other: str) -> None:
    assert 0 <= spelling_ratio(normalise(one), normalise(other)) <= 1
    spelling_keys(normalise(one))


def test_a_name_longer_than_names_of_things_are_is_never_merged() -> None:
    assert spelling_keys("x" * 10_000) == ()
