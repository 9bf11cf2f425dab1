"""A graph written again: equal, or with its merges undone."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import pytest
from graphs import content, travelling_key, write
from reference_store import ReferenceStore

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.rebuilding import EVERY_NAME, rebuild

KEY, KEYS = "key, is in, box", "keys, is in, box"
HELD, HELD_KEYS = "key, is in, inventory", "keys, is in, inventory"


def rebuilt(source: ReferenceStore, apart: Container[str]) -> ReferenceStore:
    store = ReferenceStore()
    rebuild(source.changes(), store, fact=source.fact, apart=apart)
    return store


def merged_twice() -> ReferenceStore:
    """Step 1 says it of both spellings, step 2 retires the merged fact, as told of the alias."""
    store = ReferenceStore()
    write(store, 1, [KEY, "lamp, is on, table"])
    write(store, 2, [KEY, "lamp, is, lit"], {}, {KEY: KEYS, "lamp, is, lit": "lamps, is, lit"})
    write(store, 3, [HELD], {KEY: HELD}, {HELD: HELD_KEYS})
    return store


def test_without_names_to_keep_apart_the_graph_is_equal_to_the_last_id(tmp_path: Path) -> None:
    source = travelling_key(KuzuStore())
    with KuzuStore(tmp_path / "graph.kuzu") as store:
        rebuild(source.changes(), store)
        assert list(store.changes()) == list(source.changes())
        assert [store.history(i) for i in (1, 2, 3)] == [source.history(i) for i in (1, 2, 3)]


def test_undone_the_alias_has_its_own_facts_and_a_retirement_reaches_all_that_were_merged() -> None:
    held, mentioned = content(rebuilt(merged_twice(), EVERY_NAME))
    assert held[KEY] == [(1, 3, HELD_KEYS)]
    assert held[KEYS] == [(2, 3, HELD_KEYS)]
    assert held[HELD_KEYS] == [(3, None, None)]
    assert held["lamps, is, lit"] == [(2, None, None)]
    assert mentioned[2] == {KEYS, "lamps, is, lit"}
    assert HELD not in held


@pytest.mark.parametrize("name", ["key", "keys"])
def test_only_the_merges_of_the_names_given_are_undone(name: str) -> None:
    store = rebuilt(merged_twice(), {name})
    held, _ = content(store)
    assert KEYS in held
    assert "lamp, is, lit" in held
    assert "lamps, is, lit" not in held
    (_, second, _) = store.changes()
    assert [str(told) for told in second.wordings.values()] == ["lamps, is, lit"]


def test_a_fact_that_stands_for_nothing_current_is_not_retired_twice() -> None:
    source = ReferenceStore()
    write(source, 1, [KEY], {}, {KEY: KEYS})
    write(source, 2, [HELD], {KEY: HELD})
    write(source, 3, [KEY], {HELD: KEY})
    write(source, 4, [HELD], {KEY: HELD})
    held, _ = content(rebuilt(source, EVERY_NAME))
    assert held[KEYS] == [(1, 2, HELD)]
    assert held[KEY] == [(3, 4, HELD)]


def test_a_merged_fact_is_not_retired_by_what_it_stood_for() -> None:
    source = ReferenceStore()
    write(source, 1, [KEY], {}, {KEY: KEYS})
    write(source, 2, [HELD], {KEY: HELD}, {HELD: KEYS})
    assert content(rebuilt(source, EVERY_NAME))[0][KEYS] == [(1, None, None)]


def test_only_an_empty_store_is_written_to() -> None:
    source = travelling_key()
    with pytest.raises(ArigraphError, match="not empty"):
        rebuild(source.changes(), source)
