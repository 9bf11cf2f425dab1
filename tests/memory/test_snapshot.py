"""A graph closed in good order is read from its snapshot, and only from one that is its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graph_contents import contents

from arigraph_local.errors import GraphError
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.snapshot import snapshot_file
from arigraph_local.memory.graph.store import Retirement, StepChange
from arigraph_local.memory.triplet import Triplet

IN_LOCKER = Triplet("key 1", "is in", "locker")
IN_HAND = Triplet("key 1", "is in", "inventory")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "graph.kuzu"
    with KuzuStore(path) as store:
        store.apply(StepChange(1, 'A "locker"\nholds a kéy.', [IN_LOCKER]))
        wordings = {IN_HAND: Triplet("kee 1", "is in", "inventory")}
        moved = [Retirement(1, IN_HAND, "taken")]
        store.apply(StepChange(4, "Taken.", [IN_HAND], moved, wordings))
    return path


def held(path: Path) -> object:
    with KuzuStore(path) as store:
        return contents(store)


def test_reading_a_closed_graph_opens_no_database(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = held(path)
    monkeypatch.setattr(KuzuStore, "_open", lambda *_: pytest.fail("the database was opened"))
    assert held(path) == expected


def test_the_first_write_opens_the_database_and_all_is_there_afterwards(path: Path) -> None:
    back = StepChange(5, "Back.", [IN_LOCKER], [Retirement(2, IN_LOCKER, "put back")])
    with KuzuStore(path) as store:
        store.apply(back)
        expected = contents(store)
    assert held(path) == expected
    snapshot_file(path).unlink()
    assert held(path) == expected


@pytest.mark.parametrize("fault", ["missing", "garbage", "changed", "shorter", "longer"])
def test_a_snapshot_that_is_not_the_graphs_own_is_not_believed(fault: str, path: Path) -> None:
    expected = held(path)
    file = snapshot_file(path)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    match fault:
        case "missing":
            file.unlink()
        case "garbage":
            file.write_bytes(b"\xff[1,")
        case "changed":
            file.write_text("".join(lines).replace("locker", "drawer"), encoding="utf-8")
        case "shorter":
            file.write_text(lines[0], encoding="utf-8")
        case "longer":
            extra = json.dumps([9, "x", [["a", "b", "c"]], [], []]) + "\n"
            file.write_text("".join([*lines, extra]), encoding="utf-8")
    assert held(path) == expected


def test_a_database_that_is_not_that_of_its_snapshot_is_damaged(path: Path) -> None:
    with KuzuStore(path) as store:
        store._mirror.digests[4] = "another"
        with pytest.raises(GraphError, match="not what it was when it was last closed"):
            store.apply(StepChange(5, "x", [IN_LOCKER]))
