"""Which known names an observation mentions."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.memory.learning.mentioning import mentioned_names

NAMES = {"key 1", "golden locker", "key 12", "ox", "red locker"}
WORDS = st.sampled_from(["key", "1", "12", "old", "night-stand", "cook's", "lamp", "Lamp", "é"])


def test_known_names_are_those_the_observation_mentions_longest_first() -> None:
    text = "A Golden   locker. There is a Key 1 on the floor, and an ox."
    assert mentioned_names(text, NAMES.__contains__, 5) == ["golden locker", "key 1"]
    assert mentioned_names(text, NAMES.__contains__, 1) == ["golden locker"]


@given(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.sets(st.lists(WORDS, min_size=1, max_size=3).map(" ".join).map(str.lower), max_size=6),
)
def test_the_spans_find_what_searching_for_each_name_finds(text: str, names: set[str]) -> None:
    shown = " ".join(text.lower().split())
    expected = {
        name for name in names if len(name) > 2 and re.search(rf"\b{re.escape(name)}\b", shown)
    }
    assert set(mentioned_names(text, names.__contains__, 99)) == expected


@given(st.text())
def test_any_text_can_be_an_observation(text: str) -> None:
    found = mentioned_names(text, lambda _: True, 9)
    assert found == sorted(found, key=lambda name: (-len(name), name))


def test_the_cost_does_not_depend_on_the_number_of_names() -> None:
    asked: set[str] = set()

    def knows(name: str) -> bool:
        asked.add(name)
        return False

    mentioned_names("a brass key", knows, 9)
    assert asked == {"a brass", "a brass key", "brass", "brass key", "key"}
