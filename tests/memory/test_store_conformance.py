"""The stores on Kùzu and ladybug against the plain reference, on disk and in memory.

`ARIGRAPH_GRAPHS` is the number of graphs to have open at once.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

import pytest
from graph_contents import IN_INVENTORY, IN_LOCKER, ON_TABLE, contents, key_taken, moving_things
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from reference_store import ReferenceStore

from arigraph_local.errors import ArigraphError, UsageError
from arigraph_local.memory.graph import (
    database_modules,
    database_store,
    graph_database,
    graph_opening,
)
from arigraph_local.memory.graph.store import Fact, Interval, Retirement, StepChange
from arigraph_local.memory.graph.stores import STORES, StoreKind, graph_file, open_store
from arigraph_local.memory.triplet import Triplet

# Kùzu's own defaults fail at the 16th.
GRAPHS = int(os.environ.get("ARIGRAPH_GRAPHS", "30"))
KINDS: tuple[StoreKind, ...] = get_args(StoreKind)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    assert request.param in STORES
    return "kuzu" if request.param == "kuzu" else "ladybug"


def test_a_retired_fact_leaves_the_semantic_layer_and_stays_in_the_past(kind: StoreKind) -> None:
    with open_store(kind) as store:
        key_taken(store)
        apple, taken = Fact(2, ON_TABLE), Fact(3, IN_INVENTORY)
        assert store.current() == [apple, taken]
        assert store.incident(["key 1"]) == [taken]
        assert store.incident(["locker"]) == []
        assert store.as_of(0) == []
        assert store.as_of(1) == [Fact(1, IN_LOCKER), apple]
        assert store.as_of(2) == [apple, taken]
        assert store.history(1) == (Interval(1, 2, 3, "key was taken"),)
        assert store.find(IN_LOCKER) == Fact(1, IN_LOCKER)
        assert [episode.fact_ids for episode in store.episodes()] == [{1, 2}, {3}]


def test_a_relearned_fact_keeps_its_id_and_opens_a_new_interval(kind: StoreKind) -> None:
    with open_store(kind) as store:
        key_taken(store)
        outcome = store.apply(
            StepChange(5, "Put back.", [IN_LOCKER], [Retirement(3, IN_LOCKER, "put back")])
        )
        assert outcome.added == (Fact(1, IN_LOCKER),)
        assert outcome.retired == (Fact(3, IN_INVENTORY),)
        assert store.history(1) == (Interval(1, 2, 3, "key was taken"), Interval(5))
        assert store.as_of(3) == [Fact(2, ON_TABLE), Fact(3, IN_INVENTORY)]


def test_a_fact_retired_and_learned_in_one_step_has_two_intervals(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    with open_store(kind, path) as store:
        key_taken(store)
        store.apply(StepChange(3, "x", [ON_TABLE, IN_LOCKER], [Retirement(2, IN_LOCKER, "moved")]))
        assert store.history(2) == (Interval(1, 3, 1, "moved"), Interval(3))
    with open_store(kind, path) as store:
        assert store.history(2) == (Interval(1, 3, 1, "moved"), Interval(3))
        assert store.is_current(2)


def test_learning_a_current_fact_again_only_mentions_it(kind: StoreKind) -> None:
    with open_store(kind) as store:
        key_taken(store)
        outcome = store.apply(StepChange(3, "Still there.", [ON_TABLE, ON_TABLE]))
        assert outcome.added == ()
        assert outcome.episode.fact_ids == {2}
        assert store.history(2) == (Interval(1),)
        assert list(store.mentions(2)) == [1, 3]


REFUSED = [
    (StepChange(2, "x", []), "steps must increase"),
    (StepChange(3, "x", [ON_TABLE], [Retirement(9, ON_TABLE, "")]), "does not exist"),
    (StepChange(3, "x", [ON_TABLE], [Retirement(1, ON_TABLE, "")]), "already retired"),
    (StepChange(3, "x", [], [Retirement(2, IN_LOCKER, "")]), "without learning"),
    (StepChange(3, "x", [ON_TABLE], [Retirement(2, ON_TABLE, "")]), "own replacement"),
    (StepChange(3, "x", [IN_LOCKER], [Retirement(2, IN_LOCKER, "")] * 2), "more than once"),
    (StepChange(3, "x", [ON_TABLE], wordings={IN_LOCKER: ON_TABLE}), "does not learn"),
    (StepChange(3, "\ud800", [IN_LOCKER]), "not valid Unicode"),
    (StepChange(3, "x", [ON_TABLE], wordings={ON_TABLE: Triplet("\udcff", "", "")}), "Unicode"),
]


def test_a_refused_change_changes_nothing(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    with open_store(kind, path) as store:
        key_taken(store)
        before = contents(store)
        for change, message in REFUSED:
            with pytest.raises(ArigraphError, match=message):
                store.apply(change)
            assert contents(store) == before
    with open_store(kind, path) as store:
        assert contents(store) == before


def test_an_unknown_fact_or_episode_is_an_error(kind: StoreKind) -> None:
    with open_store(kind) as store:
        for ask in (store.fact, store.history, store.episode):
            with pytest.raises(ArigraphError, match=r"the graph in memory has no .* 1"):
                ask(1)


def test_the_database_can_be_asked_the_same_in_cypher(kind: StoreKind, tmp_path: Path) -> None:
    with open_store(kind, tmp_path / graph_file(kind)) as store:
        key_taken(store)
        rows = store._database.rows(
            "MATCH (s:Entity)<-[:SUBJECT]-(f:Fact)-[:OBJECT]->(o:Entity), (f)-[r:RETIRED_BY]->(g) "
            "RETURN s.name, f.relation, o.name, f.current, r.step, g.id, g.current"
        )
        assert list(rows) == [["key 1", "is in", "locker", False, 2, 3, True]]
        rows = store._database.rows(
            "MATCH (p:Episode)-[m:MENTIONS]->(f:Fact) "
            "WHERE m.learned AND p.step <= 1 AND (m.until IS NULL OR m.until > 1) "
            "RETURN f.id, m.wording_subject ORDER BY f.id"
        )
        assert list(rows) == [[1, None], [2, "the red apple"]]


TEXTS = [
    "",
    'it\'s "quoted" \\ $id {x: 1}\n\r\t',
    "a\0b",
    "é🙂\u202e\ufeff漢字",
    "x" * 10_000,
    "null",
]


def test_any_text_survives_reopening(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    with open_store(kind, path) as store:
        for number, text in enumerate(TEXTS):
            triplet = Triplet(text + "1", text, text + "2")
            wording = Triplet(text, text + "3", "")
            old = [Retirement(1, triplet, text)] if number == 1 else []
            store.apply(StepChange(2 * number, text, [triplet], old, {triplet: wording}))
            store.apply(StepChange(2 * number + 1, "", [triplet], (), {triplet: triplet}))
        before = contents(store)
        assert store.history(1)[0].reason == TEXTS[1]
    with open_store(kind, path) as store:
        assert contents(store) == before


def test_entity_names_are_told_apart_exactly(kind: StoreKind) -> None:
    with open_store(kind) as store:
        names = ["Key", "key", "key ", "kéy", "ke\u0301y"]
        store.apply(StepChange(1, "x", [Triplet(name, "is in", "box") for name in names]))
        assert [store.incident([name])[0].triplet.subject for name in names] == names


def test_a_step_of_many_new_entities_and_facts_is_whole(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    learned = [Triplet(f"a{n}", "is by", f"b{n}") for n in range(23)]
    with open_store(kind, path) as store:
        store.apply(StepChange(1, "x", learned))
        store.apply(StepChange(2, "x", learned[:5]))
    with open_store(kind, path) as store:
        assert [fact.triplet for fact in store.current()] == learned


def test_both_databases_are_open_in_one_process_and_agree(tmp_path: Path) -> None:
    with (
        open_store("kuzu", tmp_path / "graph.kuzu") as kuzu,
        open_store("ladybug", tmp_path / "graph.lbug") as ladybug,
    ):
        key_taken(kuzu)
        for change in kuzu.changes():
            ladybug.apply(change)
        assert contents(kuzu) == contents(ladybug)


def test_an_unknown_kind_and_a_missing_package_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="unknown graph store 'kuzo': did you mean kuzu"):
        open_store("kuzo")  # type: ignore[arg-type]
    monkeypatch.setattr(database_modules, "_loaded", {})
    monkeypatch.delitem(sys.modules, "ladybug", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="not installed: pip install ladybug"):
        open_store("ladybug")


def test_many_graphs_are_open_at_once_in_one_process(tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        with open_store(kind, tmp_path / kind / "graph") as store:
            key_taken(store)
    with ExitStack() as stack:
        stores = []
        for number in range(GRAPHS):
            kind = KINDS[number % 2]
            shutil.copytree(tmp_path / kind, tmp_path / str(number))
            stores.append(stack.enter_context(open_store(kind, tmp_path / str(number) / "graph")))
        for number in (0, 7, GRAPHS - 1):
            stores[number].apply(StepChange(3 + number, "x", [ON_TABLE]))
        assert [stores[n].last_step for n in (0, 1, 7, -1)] == [3, 2, 10, GRAPHS + 2]


def test_a_graph_that_outgrows_its_memory_is_given_more(
    kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = 8 << 20
    for module in (database_store, graph_database, graph_opening):
        monkeypatch.setattr(module, "SMALLEST_POOL_BYTES", small)
    monkeypatch.setattr(graph_database, "_POOL_BYTES_PER_FILE_BYTE", 0)
    path, expected = tmp_path / graph_file(kind), ReferenceStore()
    with open_store(kind, path) as store:
        first = store._database.pool_bytes
        for change in moving_things(400):
            store.apply(change)
            expected.apply(change)
            if store._database.pool_bytes > first:
                break
        assert store._database.pool_bytes > first
        assert contents(store) == contents(expected)
    with open_store(kind, path) as store:
        assert contents(store) == contents(expected)


NAMES = st.sampled_from(["key", "locker", "bag", "Key", "it's", "é\n"])
TRIPLETS = st.builds(Triplet, NAMES, st.sampled_from(["is in", "is on"]), NAMES)


class StoreAgainstReference(RuleBasedStateMachine):
    """Random steps, valid and not, with everything readable compared after each."""

    kind: StoreKind = "kuzu"
    path: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        self.store = open_store(self.kind, self.path)
        self.reference = ReferenceStore()
        self.step = 0

    @rule(
        text=st.text(max_size=8),
        learned=st.lists(TRIPLETS, max_size=4),
        picks=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=2),
        worded=st.dictionaries(st.integers(0, 3), TRIPLETS, max_size=2),
        strays=st.sampled_from([False] * 9 + [True]),
        advance=st.sampled_from([1, 1, 1, 2, 0]),
    )
    def apply(
        self,
        text: str,
        learned: list[Triplet],
        picks: list[tuple[int, int]],
        worded: dict[int, Triplet],
        strays: bool,
        advance: int,
    ) -> None:
        current = self.reference.current()
        retired = [
            Retirement(current[fact % len(current)].id, learned[by % len(learned)], f"why {fact}")
            for fact, by in picks
            if current and learned
        ]
        wordings = {learned[n % len(learned)]: t for n, t in worded.items() if learned}
        if strays:
            wordings[Triplet("a", "is", "stray")] = Triplet("a", "is", "stray")
        change = StepChange(self.step + advance, text, learned, retired, wordings)
        try:
            expected = self.reference.apply(change)
        except ArigraphError:
            with pytest.raises(ArigraphError):
                self.store.apply(change)
        else:
            assert self.store.apply(change) == expected
            self.step = change.step

    @invariant()
    def same(self) -> None:
        assert contents(self.store) == contents(self.reference)
        for names in (["key", "bag"], ["nobody"]):
            assert self.store.incident(names) == self.reference.incident(names)
        assert not self.store.knows("nobody")

    def teardown(self) -> None:
        copy = ReferenceStore()
        for change in self.store.changes():
            copy.apply(change)
        assert contents(copy) == contents(self.store)
        self.store.close()


class StoreOnDisk(StoreAgainstReference):
    """The same in a file that is closed and opened again in between."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / graph_file(self.kind)
        super().__init__()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.kind, self.path)

    def teardown(self) -> None:
        self.reopen()
        self.same()
        super().teardown()
        self.folder.cleanup()


class LadybugInMemory(StoreAgainstReference):
    kind = "ladybug"


class LadybugOnDisk(StoreOnDisk):
    kind = "ladybug"


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
_IN_MEMORY = settings(
    max_examples=8, stateful_step_count=10, deadline=None, suppress_health_check=_QUIET
)
_ON_DISK = settings(
    max_examples=5, stateful_step_count=8, deadline=None, suppress_health_check=_QUIET
)
TestKuzuInMemory = StoreAgainstReference.TestCase
TestKuzuInMemory.settings = _IN_MEMORY
TestKuzuOnDisk = StoreOnDisk.TestCase
TestKuzuOnDisk.settings = _ON_DISK
TestLadybugInMemory = LadybugInMemory.TestCase
TestLadybugInMemory.settings = _IN_MEMORY
TestLadybugOnDisk = LadybugOnDisk.TestCase
TestLadybugOnDisk.settings = _ON_DISK
