"""A run's graph after interruptions, damage and mix-ups: always the graph of its log."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from arigraph_local.errors import RunError
from arigraph_local.events import Event, MemoryUpdated, RetiredRecord
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.store import Store
from arigraph_local.memory.graph.stores import StoreKind, graph_file
from arigraph_local.runs.run_graph import logged_changes, run_graph

STEPS = 12


def log(seed: int = 1, steps: int = STEPS) -> list[Event]:
    """Steps of a key that is carried about, each retiring where it was, with other facts."""
    generator = random.Random(seed)
    events: list[Event] = []
    with KuzuStore() as store:
        for step in range(1, steps + 1):
            place = ("key", "is in", f"room {step}")
            learned = [place, ("lamp", "is on", f"table {generator.randint(1, 4)}")]
            before = ("key", "is in", f"room {step - 1}")
            held = [fact for fact in store.current() if str(fact.triplet) == ", ".join(before)]
            event = MemoryUpdated(
                step=step,
                text=f"seed {seed}, step {step}",
                learned=tuple(learned),
                added=(),
                retired=tuple(
                    RetiredRecord(id=fact.id, triplet=before, replacement=place, reason="moved")
                    for fact in held
                ),
                rejected=(),
                guarded={},
                facts=0,
                wordings=((place, ("kye", "is in", f"room {step}")),) if step == 3 else (),
            )
            events.append(event)
            store.apply(next(logged_changes([event])))
    return events


def contents(store: Store) -> object:
    changes = list(store.changes())
    return changes, store.current(), [store.history(fact.id) for fact in store.current()]


def whole(events: list[Event]) -> object:
    with KuzuStore() as store:
        for change in logged_changes(events):
            store.apply(change)
        return contents(store)


def opened(path: Path, events: list[Event], kind: StoreKind = "kuzu") -> tuple[object, list[str]]:
    said: list[str] = []
    store = run_graph(path, kind, events, said.append)
    try:
        return contents(store), said
    finally:
        store.close()


@pytest.fixture(params=["kuzu", "ladybug"])
def kind(request: pytest.FixtureRequest) -> StoreKind:
    name: StoreKind = request.param
    return name


def test_a_graph_is_written_from_its_log_and_then_taken_as_it_is(
    kind: StoreKind, tmp_path: Path
) -> None:
    path = tmp_path / graph_file(kind)
    assert opened(path, log(), kind) == (whole(log()), [])
    written = path.with_name(f"{path.name}.wal").stat().st_mtime_ns
    assert opened(path, log(), kind) == (whole(log()), [])
    assert path.with_name(f"{path.name}.wal").stat().st_mtime_ns == written


@pytest.mark.parametrize(("held", "logged"), [(4, 12), (12, 5), (0, 3), (3, 0)])
def test_a_graph_behind_or_ahead_of_its_log_is_brought_to_it(
    held: int, logged: int, tmp_path: Path
) -> None:
    path = tmp_path / "graph.kuzu"
    opened(path, log(steps=held))
    assert opened(path, log(steps=logged)) == (whole(log(steps=logged)), [])
    assert not list(tmp_path.glob("*set-aside*"))


def test_the_graph_of_another_log_is_set_aside_and_said(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    opened(path, log(seed=2))
    found, said = opened(path, log(seed=1))
    assert found == whole(log(seed=1))
    (line,) = said
    assert "\n" not in line
    assert f"{path} is not the graph of this log: now {path}.set-aside-1" in line
    assert opened(tmp_path / "graph.kuzu.set-aside-1", log(seed=2)) == (whole(log(seed=2)), [])


@pytest.mark.parametrize("damage", ["no database", "empty", "old seal", "cut"])
def test_a_graph_that_will_not_open_is_set_aside_and_rebuilt(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    opened(path, log())
    wal = path.with_name("graph.kuzu.wal")
    if damage == "no database":
        path.write_bytes(b"nonsense" * 512)
    elif damage == "empty":
        path.write_bytes(b"")
        wal.write_bytes(b"")
    elif damage == "old seal":
        path.with_name("graph.kuzu.seal").write_text("{}")
        path.write_bytes(path.read_bytes()[:100])
    else:
        wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])
    before = {file.name: file.read_bytes() for file in tmp_path.glob("graph.kuzu*")}
    found, said = opened(path, log())
    assert found == whole(log())
    assert len(said) <= 1
    if said:
        assert "\n" not in said[0]
        kept = tmp_path / "graph.kuzu.set-aside-1"
        assert kept.read_bytes() == before["graph.kuzu"]
    assert opened(path, log()) == (whole(log()), [])


@pytest.mark.parametrize("seed", range(5))
def test_whatever_byte_is_wrong_the_graph_is_that_of_its_log(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)
    folder = tmp_path / "sound"
    folder.mkdir()
    opened(folder / "graph.kuzu", log())
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    file = generator.choice([f for f in sorted(damaged.iterdir()) if f.suffix != ".lock"])
    data = bytearray(file.read_bytes())
    place = generator.randrange(len(data))
    if generator.random() < 0.5:
        data[place] ^= 1 << generator.randrange(8)
    else:
        del data[place:]
    file.write_bytes(data)
    found, said = opened(damaged / "graph.kuzu", log())
    assert found == whole(log())
    assert len(said) <= 1


def test_a_graph_that_is_open_elsewhere_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    opened(path, log())
    with KuzuStore(path), pytest.raises(RunError, match="already open in this process"):
        run_graph(path, "kuzu", log(), print)
    assert opened(path, log()) == (whole(log()), [])


def test_a_step_that_cannot_be_rebuilt_leaves_the_graph_closed(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    broken = [
        event.model_copy(
            update={
                "retired": (
                    RetiredRecord(
                        id=99, triplet=("a", "b", "c"), replacement=("key", "is in", "x"), reason=""
                    ),
                )
            }
        )
        if event.step == 5
        else event
        for event in log()
        if isinstance(event, MemoryUpdated)
    ]
    with pytest.raises(Exception, match="retires fact 99"):
        run_graph(path, "kuzu", broken, print)
    assert opened(path, log(steps=4)) == (whole(log(steps=4)), [])
