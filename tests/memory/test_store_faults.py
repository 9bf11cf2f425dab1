"""What the stores do about second processes, full disks, damaged files and failing writes."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from graph_contents import ON_TABLE, contents, key_taken, moving_things
from reference_store import ReferenceStore

from arigraph_local.errors import ArigraphError, RunError
from arigraph_local.memory.graph import examining
from arigraph_local.memory.graph.database_modules import load_database_module
from arigraph_local.memory.graph.graph_files import set_aside
from arigraph_local.memory.graph.seal import seal_file
from arigraph_local.memory.graph.snapshot import snapshot_file
from arigraph_local.memory.graph.store import Fact, Retirement, StepChange
from arigraph_local.memory.graph.stores import StoreKind, graph_file, open_store
from arigraph_local.memory.triplet import Triplet

SPAWN = multiprocessing.get_context("spawn")
both = pytest.mark.parametrize("kind", get_args(StoreKind))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.is_file() and not file.name.endswith(".lock")
    }


def prefixes(changes: list[StepChange]) -> list[dict[str, Any]]:
    """What a graph may hold after a fault: nothing, one step, two steps and so on."""
    reference = ReferenceStore()
    held = [contents(reference)]
    for change in changes:
        reference.apply(change)
        held.append(contents(reference))
    return held


@both
@pytest.mark.parametrize("failing", ["BEGIN", "CREATE (:Episode", "SET m.until", "COMMIT"])
def test_a_failed_write_leaves_neither_database_nor_mirror_changed(
    kind: StoreKind, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / graph_file(kind)
    moved = Triplet("apple", "is in", "inventory")
    change = StepChange(3, "Taken.", [moved], [Retirement(2, moved, "taken")])
    with open_store(kind, path) as store:
        key_taken(store)
        before = contents(store)
        run = store._database.run

        def fail(statement: str, parameters: Mapping[str, Any] | None = None) -> None:
            if failing in statement:
                raise RuntimeError("IO exception: no space left on device")
            run(statement, parameters)

        with monkeypatch.context() as patch:
            patch.setattr(store._database, "run", fail)
            with pytest.raises(RunError, match=r"cannot write step 3 .* no space left"):
                store.apply(change)
        assert contents(store) == before
        store.apply(change)
        after = contents(store)
        assert after != before
    with open_store(kind, path) as store:
        assert contents(store) == after


@both
def test_an_error_after_the_commit_does_not_deny_the_step(
    kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(kind, tmp_path / graph_file(kind)) as store:
        key_taken(store)
        run = store._database.run

        def fail_late(statement: str, parameters: Mapping[str, Any] | None = None) -> None:
            run(statement, parameters)
            if statement == "COMMIT":
                raise RuntimeError("IO exception: cannot flush")

        with monkeypatch.context() as patch:
            patch.setattr(store._database, "run", fail_late)
            outcome = store.apply(StepChange(3, "x", [ON_TABLE]))
        assert outcome.episode == store.episode(3)
        store.apply(StepChange(4, "x", [ON_TABLE]))
        assert list(store.mentions(2)) == [1, 3, 4]


@both
def test_an_interrupted_step_is_whole_or_absent(
    kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(kind, tmp_path / graph_file(kind)) as store:
        key_taken(store)
        before = contents(store)
        for step, last in ((3, "CREATE (:Episode"), (4, "COMMIT")):
            run = store._database.run

            def interrupt(
                statement: str,
                parameters: Mapping[str, Any] | None = None,
                run: Any = run,
                last: str = last,
            ) -> None:
                run(statement, parameters)
                if last in statement:
                    raise KeyboardInterrupt

            monkeypatch.setattr(store._database, "run", interrupt)
            with pytest.raises(KeyboardInterrupt):
                store.apply(StepChange(step, "x", [ON_TABLE]))
            if step == 3:
                assert contents(store) == before
        assert store.last_step == 4


@both
def test_an_error_of_the_database_itself_aborts_the_step(
    kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / graph_file(kind), None):
        with open_store(kind, path) as store:
            key_taken(store)
            before = contents(store)
            run = store._database.run
            with monkeypatch.context() as patch:
                patch.setattr(
                    store._database,
                    "run",
                    lambda text, given=None, run=run: run(
                        text, {**given, "id0": 1} if given and "s0" in given else given
                    ),
                )
                with pytest.raises(RunError, match="duplicated primary key"):
                    store.apply(StepChange(3, "x", [Triplet("a", "b", "c")]))
            assert contents(store) == before
            store.apply(StepChange(3, "x", [Triplet("a", "b", "c")]))
            assert store.find(Triplet("a", "b", "c")) == Fact(4, Triplet("a", "b", "c"))


@both
def test_a_file_that_is_no_database_is_refused_and_kept(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(RunError, match=r"graph\..* is damaged \(.*not a valid .*set it aside") as e:
        open_store(kind, path)
    assert "\n" not in str(e.value)
    assert files_of(tmp_path) == {path.name: b"not a database" * 1000}


@both
def test_a_foreign_database_a_folder_and_a_missing_folder_are_refused(
    kind: StoreKind, tmp_path: Path
) -> None:
    module = load_database_module(kind)
    for name, table in (
        ("other", "CREATE NODE TABLE A(id INT64, PRIMARY KEY(id))"),
        ("fact", "CREATE NODE TABLE Fact(id INT64, PRIMARY KEY(id))"),
    ):
        database = module.Database(tmp_path / name, max_db_size=1 << 30)
        module.Connection(database).execute(table)
        database.close()
        with pytest.raises(RunError, match=rf"{name} is a .* database, but not a graph"):
            open_store(kind, tmp_path / name)
    with pytest.raises(RunError, match=r"cannot open the graph .*: it is a folder"):
        open_store(kind, tmp_path)
    with pytest.raises(RunError, match=r"cannot open the graph .*: no folder .*missing"):
        open_store(kind, tmp_path / "missing" / "graph")


@both
def test_a_graph_of_an_older_format_is_refused_by_its_number(
    kind: StoreKind, tmp_path: Path
) -> None:
    module = load_database_module(kind)
    path = tmp_path / graph_file(kind)
    database = module.Database(path, max_db_size=1 << 30)
    connection = module.Connection(database)
    for statement in (
        "CREATE NODE TABLE Schema(version INT64, PRIMARY KEY(version))",
        "CREATE NODE TABLE Fact(id INT64, PRIMARY KEY(id))",
        "CREATE REL TABLE LEARNED(FROM Fact TO Fact)",
    ):
        connection.execute(statement).close()
    database.close()
    with pytest.raises(RunError, match=r"has graph format 1, this version reads 2: rebuild"):
        open_store(kind, path)


@both
def test_a_graph_is_open_once_in_a_process_and_free_after_closing(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    store = open_store(kind, path)
    (tmp_path / "link").symlink_to(path)
    for name in (path.name, "link"):
        with pytest.raises(RunError, match=rf"{name} is already open in this process"):
            open_store(kind, tmp_path / name)
    store.close()
    store.close()
    with pytest.raises(RunError, match="is closed"):
        store.apply(StepChange(1, "x", []))
    open_store(kind, path).close()


@both
def test_a_store_that_is_dropped_unclosed_frees_its_file(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    store = open_store(kind, path)
    key_taken(store)
    expected = contents(store)
    del store
    with open_store(kind, path) as store:
        assert contents(store) == expected


def _try_to_open(kind: StoreKind, path: str, user: int, answers: Any) -> None:
    load_database_module(kind)
    if user:
        os.setuid(user)
    try:
        open_store(kind, Path(path))
    except ArigraphError as error:
        answers.put(str(error))
    else:
        answers.put("opened")


def answer_of_another_process(kind: StoreKind, path: Path, user: int = 0) -> str:
    answers = SPAWN.Queue()
    other = SPAWN.Process(target=_try_to_open, args=(kind, str(path), user, answers))
    other.start()
    answer = answers.get(timeout=60)
    other.join(timeout=60)
    return str(answer)


@both
def test_a_second_process_is_told_who_has_the_graph(kind: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / graph_file(kind)
    with open_store(kind, path):
        answer = answer_of_another_process(kind, path)
    assert answer.startswith(f"{path} is already open in process {os.getpid()} (")
    assert Path(sys.argv[0]).name in answer


@both
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without rights")
def test_a_read_only_folder_or_file_is_one_clear_error(kind: StoreKind) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / graph_file(kind)
        open_store(kind, path).close()
        (folder / f"{path.name}.lock").unlink()
        nobody = 65534
        answer = answer_of_another_process(kind, path, nobody)
        assert answer == f"{path}.lock: cannot be written: Permission denied"
        folder.chmod(0o777)
        answer = answer_of_another_process(kind, path, nobody)
        assert answer.startswith(f"{path}: cannot be written")


def _write_until_the_disk_is_full(kind: StoreKind, path: str, answers: Any) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = open_store(kind, Path(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    for change in moving_things(400):
        before = contents(store)
        try:
            store.apply(change)
        except RunError as error:
            answers.send((change.step, str(error), contents(store) == before))
            break
    store.close()


@both
def test_a_full_disk_is_one_clear_error_and_loses_no_finished_step(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    receiver, sender = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=_write_until_the_disk_is_full, args=(kind, str(path), sender))
    writer.start()
    assert receiver.poll(60)
    failed, message, unchanged = receiver.recv()
    writer.join(timeout=60)
    assert writer.exitcode == 0
    assert message.startswith(f"cannot write step {failed} to {path}: ")
    assert unchanged
    changes = moving_things(failed)
    with open_store(kind, path) as store:
        assert contents(store) == prefixes(changes)[failed - 1]
        store.apply(changes[failed - 1])
    with open_store(kind, path) as store:
        assert contents(store) == prefixes(changes)[failed]


@both
def test_only_a_cleanly_closed_graph_is_opened_unexamined(
    kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / graph_file(kind)
    examined: list[Path] = []
    monkeypatch.setattr(
        "arigraph_local.memory.graph.database_store.examine",
        lambda kind, path, where: examined.append(path),
    )
    with open_store(kind, path) as store:
        key_taken(store)
    with open_store(kind, path) as store:
        assert seal_file(path).exists()
        store.apply(StepChange(3, "x", [ON_TABLE]))
        assert not seal_file(path).exists()
    assert examined == []
    for damage in ("", "{}", "\0", '{"version": 1}'):
        seal_file(path).write_text(damage)
        open_store(kind, path).close()
    assert examined == [path] * 4
    assert json.loads(seal_file(path).read_text())["last_step"] == 3


@both
def test_a_graph_grown_from_what_was_sealed_opens_and_another_does_not(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    with open_store(kind, path) as store:
        key_taken(store)
    old_seal = seal_file(path).read_bytes()
    with open_store(kind, path) as store:
        store.apply(StepChange(3, "x", [ON_TABLE]))
        expected = contents(store)
    seal_file(path).write_bytes(old_seal)
    with open_store(kind, path) as store:
        assert contents(store) == expected
    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    with open_store(kind, other) as store:
        store.apply(StepChange(2, "another game", [ON_TABLE]))
    seal_file(other).write_bytes(old_seal)
    with pytest.raises(RunError, match="not what it was when it was last closed"):
        open_store(kind, other)


def _open_quietly(kind: StoreKind, path: Path) -> dict[str, Any] | str:
    try:
        with open_store(kind, path) as store:
            return contents(store)
    except RunError as error:
        return str(error)


def _damage(data: bytes, generator: random.Random) -> bytes:
    where = generator.randrange(len(data))
    if generator.random() < 0.4:
        return data[:where]
    changed = bytearray(data)
    changed[where] ^= 1 << generator.randrange(8)
    return bytes(changed)


@both
def test_damage_gives_a_prefix_or_an_error_and_never_a_crash(
    kind: StoreKind, tmp_path: Path
) -> None:
    whole = tmp_path / "whole" / graph_file(kind)
    whole.parent.mkdir()
    changes = moving_things(6, letters=50)
    with open_store(kind, whole) as store:
        for change in changes:
            store.apply(change)
    allowed = prefixes(changes)
    generator = random.Random(11)
    for number in range(int(os.environ.get("ARIGRAPH_DAMAGES", "4"))):
        folder = tmp_path / str(number)
        shutil.copytree(whole.parent, folder)
        path = folder / whole.name
        victim = path if number % 3 == 2 else path.with_name(f"{path.name}.wal")
        victim.write_bytes(_damage(victim.read_bytes(), generator))
        sealed = number % 2 == 0
        if not sealed:
            seal_file(path).unlink()
        before = files_of(folder)
        result = _open_quietly(kind, path)
        if isinstance(result, str):
            assert "\n" not in result
            assert files_of(folder) == before
        else:
            assert result == allowed[-1] if sealed else result in allowed, (number, victim)


@both
@pytest.mark.parametrize("sealed", [True, False])
def test_files_of_two_graphs_are_not_taken_for_one(
    kind: StoreKind, sealed: bool, tmp_path: Path
) -> None:
    allowed = prefixes([])
    paths = []
    for number in (1, 2):
        path = tmp_path / str(number) / graph_file(kind)
        path.parent.mkdir()
        paths.append(path)
        with open_store(kind, path) as store:
            for change in moving_things(3, letters=number):
                store.apply(change)
        allowed.append(contents(store))
        if not sealed:
            seal_file(path).unlink()
    log = paths[0].with_name(f"{paths[0].name}.wal")
    shutil.copyfile(paths[1].with_name(log.name), log)
    result = _open_quietly(kind, paths[0])
    assert isinstance(result, str) if sealed else isinstance(result, str) or result in allowed


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "reading it crashes with signal 11"),
        ("import time; time.sleep(60)", "reading it does not end"),
        ("raise SystemExit('no such thing')", "no such thing"),
    ],
)
def test_the_way_in_which_reading_fails_is_named(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.kuzu"
    with open_store("kuzu", path) as store:
        key_taken(store)
    seal_file(path).unlink()
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(examining, "_SECONDS", 0.4 if "sleep" in program else 30)
    with pytest.raises(RunError, match=rf"is damaged \({reason}\): set it aside and rebuild"):
        open_store("kuzu", path)


@both
def test_a_graph_whose_parts_disagree_is_damaged(kind: StoreKind, tmp_path: Path) -> None:
    for number, statement in enumerate(
        (
            "MATCH (f:Fact {id: 1}) SET f.current = true",
            "MATCH (f:Fact {id: 1})-[r:SUBJECT]->(:Entity) DELETE r",
            "MATCH (f:Fact {id: 1})-[r:RETIRED_BY]->(:Fact) DELETE r",
            "MATCH (:Episode)-[m:MENTIONS]->(f:Fact {id: 1}) SET m.until = 9",
            "CREATE (:Entity {id: 9, name: 'nobody'})",
        )
    ):
        path = tmp_path / f"{number}"
        with open_store(kind, path) as store:
            key_taken(store)
            store._database.execute(statement)
        snapshot_file(path).unlink()
        with pytest.raises(RunError, match=r"is damaged \(.+\): set it aside and rebuild"):
            open_store(kind, path)


@both
def test_a_graph_set_aside_makes_room_and_can_still_be_opened(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    kept = []
    for number in (1, 2):
        with open_store(kind, path) as store:
            with pytest.raises(RunError, match="already open in this process"):
                set_aside(path)
            store.apply(StepChange(number, "x", [ON_TABLE]))
            kept.append(contents(store))
        assert set_aside(path) == tmp_path / f"{path.name}.set-aside-{number}"
        assert not path.exists()
    for number in (1, 2):
        with open_store(kind, tmp_path / f"{path.name}.set-aside-{number}") as store:
            assert contents(store) == kept[number - 1]
    with pytest.raises(RunError, match="no graph to set aside"):
        set_aside(path)
