from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.llm.batched.prefix_store import (
    PrefixStore,
    as_tokens,
    common_length,
    usable_length,
)

paths = st.lists(st.integers(0, 2), max_size=8)


def state(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.uint8)


@given(paths, paths)
def test_common_length_is_where_paths_part(first: list[int], second: list[int]) -> None:
    shared = common_length(as_tokens(first), as_tokens(second))
    assert first[:shared] == second[:shared]
    assert first[shared : shared + 1] != second[shared : shared + 1] or shared == min(
        len(first), len(second)
    )


@given(paths, paths.filter(bool), st.booleans())
def test_the_last_token_of_a_prompt_is_always_computed(
    held: list[int], prompt: list[int], whole_only: bool
) -> None:
    usable = usable_length(as_tokens(held), as_tokens(prompt), whole_only=whole_only)
    assert usable <= min(len(held), len(prompt) - 1)
    assert held[:usable] == prompt[:usable]
    if whole_only:
        assert usable in (0, len(held))


@given(st.lists(paths.filter(bool), max_size=6), paths.filter(bool), st.booleans())
def test_the_longest_is_found_and_of_equals_the_cheapest(
    kept: list[list[int]], prompt: list[int], whole_only: bool
) -> None:
    store = PrefixStore(100, whole_only=whole_only)
    for path in kept:
        store.add(as_tokens(path), state(1))
    wanted = as_tokens(prompt)
    usable = [usable_length(as_tokens(path), wanted, whole_only=whole_only) for path in kept]
    found, saved = store.longest(wanted)
    assert saved == max(usable, default=0)
    if saved:
        assert found is not None
        equal = [len(path) for path, use in zip(kept, usable, strict=True) if use == saved]
        assert found.tokens.size == min(equal)
    else:
        assert found is None


@given(st.lists(st.tuples(paths, st.integers(1, 6)), max_size=12))
def test_bytes_are_what_is_kept_and_never_over_the_limit(
    added: list[tuple[list[int], int]],
) -> None:
    store = PrefixStore(10)
    for path, size in added:
        store.add(as_tokens(path), state(size))
        assert store.bytes == sum(kept.state.nbytes for kept in store._kept) <= 10
    store.clear()
    assert (store.bytes, len(store)) == (0, 0)


def test_the_least_recently_used_is_forgotten_first() -> None:
    store = PrefixStore(3)
    for path in ([1], [2], [3]):
        store.add(as_tokens(path), state(1))
    first, _ = store.longest(as_tokens([1, 1]))
    assert first is not None
    store.touch(first)
    store.add(as_tokens([4]), state(1))
    assert [kept.tokens.tolist() for kept in store._kept] == [[1], [3], [4]]


def test_what_is_over_the_limit_alone_drives_nothing_out() -> None:
    store = PrefixStore(3)
    store.add(as_tokens([1]), state(2))
    store.add(as_tokens([2]), state(4))
    assert [kept.tokens.tolist() for kept in store._kept] == [[1]]


def test_what_was_driven_out_can_be_dropped_again() -> None:
    store = PrefixStore(3)
    store.add(as_tokens([1]), state(2))
    first, _ = store.longest(as_tokens([1, 1]))
    assert first is not None
    store.add(as_tokens([2]), state(2))
    store.drop(first)
    assert (len(store), store.bytes) == (1, 2)


def test_a_longer_path_covers_its_beginning_unless_states_cannot_be_cut() -> None:
    for whole_only in (False, True):
        store = PrefixStore(9, whole_only=whole_only)
        store.add(as_tokens([1, 2, 3]), state(1))
        assert store.covers(as_tokens([1, 2, 3]))
        assert store.covers(as_tokens([1, 2])) is not whole_only
        assert not store.covers(as_tokens([1, 3]))
        assert store.longest_whole(as_tokens([1, 2, 3, 4])) == 3
        assert store.longest_whole(as_tokens([1, 2])) == 0
