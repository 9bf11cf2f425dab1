"""The Kùzu store against the plain reference, across reopening, failed writes and kills."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from reference_store import ReferenceStore

from arigraph_local.errors import ArigraphError, RunError
from arigraph_local.memory.kuzu_store import KuzuStore
from arigraph_local.memory.store import Fact, Interval, Retirement, StepChange, Store
from arigraph_local.memory.triplet import Triplet

IN_LOCKER = Triplet("key 1", "is in", "locker")
IN_INVENTORY = Triplet("key 1", "is in", "inventory")
ON_TABLE = Triplet("apple", "is on", "table")


def contents(store: Store, steps: int = 12) -> dict[str, Any]:
    """Everything a store can be asked, in comparable form."""
    facts = {fact.id: fact for step in range(-1, steps) for fact in store.as_of(step)}
    facts |= {fact.id: fact for fact in store.current()}
    return {
        "current": store.current(),
        "as_of": [store.as_of(step) for step in range(-1, steps)],
        "episodes": store.episodes(),
        "histories": {fact_id: store.history(fact_id) for fact_id in sorted(facts)},
        "found": {fact_id: store.find(fact.triplet) for fact_id, fact in sorted(facts.items())},
    }


def key_taken(store: Store) -> None:
    """The paper's example: the key leaves the locker for the inventory."""
    store.apply(StepChange(1, "A locker holds a key.", [IN_LOCKER, ON_TABLE]))
    store.apply(
        StepChange(2, "Taken.", [IN_INVENTORY], [Retirement(1, IN_INVENTORY, "key was taken")])
    )


def test_a_retired_fact_leaves_the_semantic_layer_and_stays_in_the_past() -> None:
    with KuzuStore() as store:
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


def test_a_relearned_fact_keeps_its_id_and_opens_a_new_interval() -> None:
    with KuzuStore() as store:
        key_taken(store)
        outcome = store.apply(
            StepChange(5, "Put back.", [IN_LOCKER], [Retirement(3, IN_LOCKER, "put back")])
        )
        assert outcome.added == (Fact(1, IN_LOCKER),)
        assert outcome.retired == (Fact(3, IN_INVENTORY),)
        assert store.history(1) == (Interval(1, 2, 3, "key was taken"), Interval(5))
        assert store.as_of(3) == [Fact(2, ON_TABLE), Fact(3, IN_INVENTORY)]


def test_learning_a_current_fact_again_only_mentions_it() -> None:
    with KuzuStore() as store:
        key_taken(store)
        outcome = store.apply(StepChange(3, "Still there.", [ON_TABLE, ON_TABLE]))
        assert outcome.added == ()
        assert outcome.episode.fact_ids == {2}
        assert store.history(2) == (Interval(1),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (StepChange(2, "x", []), "steps must increase"),
        (StepChange(3, "x", [ON_TABLE], [Retirement(9, ON_TABLE, "")]), "does not exist"),
        (StepChange(3, "x", [ON_TABLE], [Retirement(1, ON_TABLE, "")]), "already retired"),
        (StepChange(3, "x", [], [Retirement(2, IN_LOCKER, "")]), "without learning"),
        (StepChange(3, "x", [ON_TABLE], [Retirement(2, ON_TABLE, "")]), "own replacement"),
        (StepChange(3, "x", [IN_LOCKER], [Retirement(2, IN_LOCKER, "")] * 2), "more than once"),
        (StepChange(3, "\ud800", [IN_LOCKER]), "not valid Unicode"),
    ],
)
def test_a_refused_change_changes_nothing(change: StepChange, message: str, tmp_path: Path) -> None:
    with KuzuStore(tmp_path / "graph.kuzu") as store:
        key_taken(store)
        before = contents(store)
        with pytest.raises(ArigraphError, match=message):
            store.apply(change)
        assert contents(store) == before
    with KuzuStore(tmp_path / "graph.kuzu") as store:
        assert contents(store) == before


@pytest.mark.parametrize("statement", ["episode", "close", "fact", "learn", "retired_by", "commit"])
def test_a_failed_write_leaves_neither_database_nor_mirror_changed(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.kuzu"
    moved = Triplet("apple", "is in", "inventory")
    change = StepChange(3, "Taken.", [moved], [Retirement(2, moved, "taken")])
    with KuzuStore(path) as store:
        key_taken(store)
        before = contents(store)
        run = store._run

        def fail(which: str, **parameters: int | str) -> None:
            if which == statement:
                raise RuntimeError("IO exception: no space left on device")
            run(which, **parameters)

        with monkeypatch.context() as patch:
            patch.setattr(store, "_run", fail)
            with pytest.raises(RunError, match=r"cannot write step 3 .* no space left"):
                store.apply(change)
        assert contents(store) == before
        store.apply(change)
        after = contents(store)
        assert after != before
    with KuzuStore(path) as store:
        assert contents(store) == after


def test_an_error_of_the_database_itself_aborts_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KuzuStore(tmp_path / "graph.kuzu") as store:
        key_taken(store)
        before = contents(store)
        run = store._run
        with monkeypatch.context() as patch:
            patch.setattr(
                store,
                "_run",
                lambda which, **given: run(which, **given | ({"id": 1} if which == "fact" else {})),
            )
            with pytest.raises(RunError, match="duplicated primary key"):
                store.apply(StepChange(3, "x", [Triplet("a", "b", "c")]))
        assert contents(store) == before
        store.apply(StepChange(3, "x", [Triplet("a", "b", "c")]))
        assert store.find(Triplet("a", "b", "c")) == Fact(4, Triplet("a", "b", "c"))


def test_the_database_can_be_asked_the_same_in_cypher(tmp_path: Path) -> None:
    with KuzuStore(tmp_path / "graph.kuzu") as store:
        key_taken(store)
        rows = store._connection.execute(
            "MATCH (s:Entity)<-[:SUBJECT]-(f:Fact)-[:OBJECT]->(o:Entity), (f)-[r:RETIRED_BY]->(g) "
            "RETURN s.name, f.relation, o.name, f.current, r.step, g.id, g.current"
        ).get_all()
        assert rows == [["key 1", "is in", "locker", False, 2, 3, True]]
        rows = store._connection.execute(
            "MATCH (p:Episode)-[l:LEARNED]->(f:Fact) "
            "WHERE p.step <= 1 AND (l.until IS NULL OR l.until > 1) RETURN f.id ORDER BY f.id"
        ).get_all()
        assert rows == [[1], [2]]


@pytest.mark.parametrize(
    "text",
    ["", 'it\'s "quoted" \\ $id {x: 1}\n\r\t', "a\0b", "é🙂\u202e\ufeff漢字", "x" * 10_000, "null"],
    ids=["empty", "quotes", "nul", "unicode", "long", "null"],
)
def test_any_text_survives_reopening(text: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    triplet = Triplet(text + "1", text, text + "2")
    with KuzuStore(path) as store:
        store.apply(StepChange(1, text, [triplet]))
        store.apply(StepChange(2, "", [ON_TABLE], [Retirement(1, ON_TABLE, text)]))
        before = contents(store)
    with KuzuStore(path) as store:
        assert contents(store) == before
        assert store.find(triplet) == Fact(1, triplet)
        assert store.history(1) == (Interval(1, 2, 2, text),)


def test_entity_names_are_told_apart_exactly() -> None:
    with KuzuStore() as store:
        names = ["Key", "key", "key ", "kéy", "ke\u0301y"]
        store.apply(StepChange(1, "x", [Triplet(name, "is in", "box") for name in names]))
        assert [store.incident([name])[0].triplet.subject for name in names] == names


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(RunError, match=r"graph\.kuzu.*not a valid Kuzu database") as caught:
        KuzuStore(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == b"not a database" * 1000


def test_a_foreign_database_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    import kuzu

    database = kuzu.Database(tmp_path / "other.kuzu")
    kuzu.Connection(database).execute("CREATE NODE TABLE A(id INT64, PRIMARY KEY(id))")
    database.close()
    with pytest.raises(RunError, match=r"other\.kuzu is a Kùzu database, but not a graph"):
        KuzuStore(tmp_path / "other.kuzu")
    with pytest.raises(RunError, match="cannot be a directory"):
        KuzuStore(tmp_path)
    with pytest.raises(RunError, match="No such file or directory"):
        KuzuStore(tmp_path / "missing" / "graph.kuzu")


def test_a_graph_is_open_once_in_a_process_and_free_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    store = KuzuStore(path)
    with pytest.raises(RunError, match="already open in this process"):
        KuzuStore(path)
    store.close()
    store.close()
    with pytest.raises(RunError, match="is closed"):
        store.apply(StepChange(1, "x", []))
    KuzuStore(path).close()


def _try_to_open(path: str, answers: Any) -> None:
    try:
        KuzuStore(Path(path))
    except ArigraphError as error:
        answers.put(str(error))
    else:
        answers.put("opened")


def _write_for_ever(path: str, steps: Any) -> None:
    store = KuzuStore(Path(path))
    for change in crash_changes():
        store.apply(change)
        steps.send(change.step)


def crash_changes() -> list[StepChange]:
    """Step n moves thing n - 1 from the floor to the bag and puts thing n on the floor."""
    changes = [StepChange(1, "t" * 500, [Triplet("thing 1", "is on", "floor")])]
    for step in range(2, 400):
        bag = Triplet(f"thing {step - 1}", "is in", "bag")
        floor = Triplet(f"thing {step}", "is on", "floor")
        floor_id = 1 if step == 2 else 2 * step - 3
        retired = [Retirement(floor_id, bag, "taken")]
        changes.append(StepChange(step, "t" * 500, [bag, floor], retired))
    return changes


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with KuzuStore(tmp_path / "graph.kuzu"):
        answers = spawn.Queue()
        other = spawn.Process(target=_try_to_open, args=(str(tmp_path / "graph.kuzu"), answers))
        other.start()
        assert answers.get(timeout=60).endswith("graph.kuzu is open in another process")
        other.join(timeout=60)


def test_a_kill_loses_no_finished_step_and_leaves_no_half_step(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    generator = random.Random(7)
    for number in range(2):
        path = tmp_path / f"graph{number}.kuzu"
        receiver, sender = spawn.Pipe(duplex=False)
        writer = spawn.Process(target=_write_for_ever, args=(str(path), sender))
        writer.start()
        sender.close()
        for _ in range(generator.randint(3, 12)):
            last = receiver.recv()
        time.sleep(generator.uniform(0, 0.01))
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(timeout=60)
        while receiver.poll():
            try:
                last = receiver.recv()
            except EOFError:
                break
        expected = ReferenceStore()
        with KuzuStore(path) as store:
            reached = store.episodes()[-1].step
            assert reached in {last, last + 1}
            for change in crash_changes()[:reached]:
                expected.apply(change)
            assert contents(store, reached + 2) == contents(expected, reached + 2)
            store.apply(crash_changes()[reached])


def _write_until_the_disk_is_full(path: str, answers: Any) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = KuzuStore(Path(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    for change in crash_changes():
        before = contents(store)
        try:
            store.apply(change)
        except RunError as error:
            answers.send((change.step, str(error), contents(store) == before))
            break
    store.close()


def test_a_full_disk_is_one_clear_error_and_loses_no_finished_step(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    writer = spawn.Process(target=_write_until_the_disk_is_full, args=(str(path), sender))
    writer.start()
    assert receiver.poll(60)
    failed, message, unchanged = receiver.recv()
    writer.join(timeout=60)
    assert writer.exitcode == 0
    assert message.startswith(f"cannot write step {failed} to {path}: ")
    assert unchanged
    with KuzuStore(path) as store:
        assert [episode.step for episode in store.episodes()] == list(range(1, failed))
        store.apply(crash_changes()[failed - 1])
        after = contents(store)
    with KuzuStore(path) as store:
        assert contents(store) == after


NAMES = st.sampled_from(["key", "locker", "bag", "Key", "it's", "é\n"])
TRIPLETS = st.builds(Triplet, NAMES, st.sampled_from(["is in", "is on"]), NAMES)


class StoreAgainstReference(RuleBasedStateMachine):
    """Random steps, valid and not, with everything readable compared after each."""

    path: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        self.store = KuzuStore(self.path)
        self.reference = ReferenceStore()
        self.step = 0

    @rule(
        text=st.text(max_size=8),
        learned=st.lists(TRIPLETS, max_size=4),
        picks=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=2),
        advance=st.sampled_from([1, 1, 1, 2, 0]),
    )
    def apply(
        self, text: str, learned: list[Triplet], picks: list[tuple[int, int]], advance: int
    ) -> None:
        current = self.reference.current()
        retired = [
            Retirement(current[fact % len(current)].id, learned[by % len(learned)], f"why {fact}")
            for fact, by in picks
            if current and learned
        ]
        change = StepChange(self.step + advance, text, learned, retired)
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
        names = ["key", "bag"]
        assert self.store.incident(names) == self.reference.incident(names)

    def teardown(self) -> None:
        self.store.close()


class StoreOnDisk(StoreAgainstReference):
    """The same in a file that is closed and opened again in between."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "graph.kuzu"
        super().__init__()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = KuzuStore(self.path)

    def teardown(self) -> None:
        self.reopen()
        self.same()
        super().teardown()
        self.folder.cleanup()


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
TestInMemory = StoreAgainstReference.TestCase
TestInMemory.settings = settings(
    max_examples=12, stateful_step_count=10, deadline=None, suppress_health_check=_QUIET
)
TestOnDisk = StoreOnDisk.TestCase
TestOnDisk.settings = settings(
    max_examples=5, stateful_step_count=8, deadline=None, suppress_health_check=_QUIET
)
