"""A run's writer killed at random moments: nothing acknowledged is lost, nothing else is there.

`ARIGRAPH_KILLS` sets how many kills; the default keeps the suite short.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from arigraph_local.events import MemoryUpdated, RetiredRecord
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import Store
from arigraph_local.memory.graph.stores import StoreKind, graph_file
from arigraph_local.memory.learning.outdated import Pair
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.triplet import Triplet
from arigraph_local.runs.event_log import EventLog, read_events
from arigraph_local.runs.run_graph import logged_changes, run_graph

KILLS = int(os.environ.get("ARIGRAPH_KILLS", "2"))
KILLS_A_FOLDER = 10
SECONDS_TO_OPEN = 5.0


class SizedEmbedder:
    """384 dimensions, as MiniLM has, from the text's own random stream."""

    name = "sized"
    threshold = -1.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [
            np.random.default_rng(list(text.encode())).standard_normal(384, dtype=np.float32)
            for text in texts
        ]
        return np.stack(rows)


def planned(step: int) -> tuple[str, list[Triplet], Triplet | None]:
    """The observation of a step, 2 to 20 KB, its 20 triplets, and the one that it outdates."""
    generator = random.Random(step)
    words = [f"word{generator.randint(0, 999)}" for _ in range(generator.randint(300, 2900))]
    learned = [Triplet("key", "is in", f"room {step}")]
    while len(learned) < 20:
        thing, place = generator.randint(0, 400), generator.randint(0, 60)
        triplet = Triplet(f"thing {thing}", "is on", f"table {place}")
        learned += [triplet] * (triplet not in learned)
    return " ".join(words), learned, Triplet("key", "is in", f"room {step - 1}")


def write_for_ever(folder: str, kind: StoreKind, acknowledged: Connection) -> None:
    path = Path(folder)
    events = read_events(path) if (path / "events.jsonl").exists() else []
    store = run_graph(path / graph_file(kind), kind, events, print)
    memory = AriGraph(ScriptedEngine({}), SizedEmbedder(), store)
    with EventLog(path) as log:
        step = len(events)
        while True:
            step += 1
            text, learned, outdated = planned(step)
            old = None if outdated is None else store.find(outdated)
            pairs = [] if old is None else [Pair(old, learned[0], "moved")]
            memory.write(step, text, learned, pairs)
            log.write(as_event(step, text, learned, pairs))
            acknowledged.send(step)


def as_event(
    step: int, text: str, learned: Sequence[Triplet], pairs: Sequence[Pair]
) -> MemoryUpdated:
    def record(triplet: Triplet) -> tuple[str, str, str]:
        return (triplet.subject, triplet.relation, triplet.object)

    return MemoryUpdated(
        step=step,
        text=text,
        learned=tuple(map(record, learned)),
        added=(),
        retired=tuple(
            RetiredRecord(
                id=pair.fact.id,
                triplet=record(pair.fact.triplet),
                replacement=record(pair.replacement),
                reason=pair.reason,
            )
            for pair in pairs
        ),
        rejected=(),
        guarded={},
        facts=0,
    )


def kill_a_writer(folder: Path, kind: StoreKind, generator: random.Random) -> int:
    """Let a writer work for a moment; the last step that it acknowledged (0: none)."""
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    writer = spawn.Process(target=write_for_ever, args=(str(folder), kind, sender))
    writer.start()
    sender.close()
    last = 0
    for _ in range(generator.randint(1, 4)):
        assert receiver.poll(60)
        last = int(receiver.recv())
    time.sleep(generator.uniform(0, 0.03))
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join(timeout=60)
    while receiver.poll():
        try:
            last = int(receiver.recv())
        except EOFError:
            break
    return last


def check(folder: Path, kind: StoreKind, acknowledged: int) -> Store:
    """Opens what a kill has left, within the time allowed, and finds exactly what was logged."""
    events = read_events(folder)
    assert len(events) in {acknowledged, acknowledged + 1}
    start = time.monotonic()
    store = run_graph(folder / graph_file(kind), kind, events, print)
    assert time.monotonic() - start < SECONDS_TO_OPEN
    held, logged = list(store.changes()), list(logged_changes(events))
    assert [change.step for change in held] == list(range(1, len(events) + 1))
    for ours, theirs in zip(held, logged, strict=True):
        assert (ours.text, set(ours.learned)) == (theirs.text, set(theirs.learned))
        assert list(ours.retired) == list(theirs.retired)
    return store


@pytest.mark.parametrize("kind", ["kuzu", "ladybug"])
def test_a_kill_loses_no_acknowledged_step_and_leaves_no_other(
    kind: StoreKind, tmp_path: Path
) -> None:
    generator = random.Random(f"{kind} {KILLS}")
    for number in range(KILLS):
        folder = tmp_path / f"run {number // KILLS_A_FOLDER}"
        folder.mkdir(exist_ok=True)
        last = kill_a_writer(folder, kind, generator)
        store = check(folder, kind, last)
        # Perhaps a step after the last acknowledged one was logged too.
        last = store.last_step or 0
        with AriGraph(ScriptedEngine({}), SizedEmbedder(), store) as memory:
            fact = memory.search([f"key, is in, room {last}"], d=1, w=1).facts[0].fact
            assert str(fact.triplet) == f"key, is in, room {last}"
        assert not list(folder.glob("*.set-aside-*"))
