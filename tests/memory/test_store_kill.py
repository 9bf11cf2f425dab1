"""A writer killed at any moment loses no acknowledged step and leaves no half step.

`ARIGRAPH_KILLS` is the number of kills for each database.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import get_args

import pytest
from graph_contents import contents
from reference_store import ReferenceStore

from arigraph_local.memory.graph.database_modules import load_database_module
from arigraph_local.memory.graph.store import Retirement, StepChange
from arigraph_local.memory.graph.stores import StoreKind, graph_file, open_store
from arigraph_local.memory.triplet import Triplet

KILLS = int(os.environ.get("ARIGRAPH_KILLS", "4"))
_WORDS = ("key", "lies", "on", "table", "kitchen", "beside", "old", "wooden", "chest", "é")


def game_steps(seed: int) -> Iterator[StepChange]:
    """Long observations of 20 facts each: things carried about, places seen again, new things."""
    generator = random.Random(seed)
    ids: dict[Triplet, int] = {}
    places: dict[str, Triplet] = {}
    step = 0
    while True:
        step += 1
        fresh = [f"thing {step}.{number}" for number in range(8)]
        moved = generator.sample(sorted(places), min(6, len(places)))
        rooms = [f"room {generator.randrange(30)}" for _ in (*fresh, *moved)]
        where = {n: Triplet(n, "is in", r) for n, r in zip([*fresh, *moved], rooms, strict=True)}
        retired = [
            Retirement(ids[places[name]], where[name], f"{name} was moved")
            for name in moved
            if places[name] != where[name]
        ]
        seen = generator.sample(sorted(ids), min(6, len(ids)))
        learned = list(dict.fromkeys([*where.values(), *seen]))
        gone = {retirement.fact_id for retirement in retired}
        learned = [t for t in learned if ids.get(t) not in gone]
        for triplet in learned:
            ids.setdefault(triplet, len(ids) + 1)
        places |= where
        worded = {where[fresh[0]]: Triplet(f"the {fresh[0]}", "stands in", rooms[0])}
        text = " ".join(generator.choices(_WORDS, k=generator.randint(400, 4000)))
        yield StepChange(step, text, learned, retired, worded)


def _write(kind: StoreKind, path: str, seed: int, told: Connection) -> None:
    store = open_store(kind, Path(path))
    for change in game_steps(seed):
        store.apply(change)
        told.send(change.step)


def _fork_writers(kind: StoreKind, orders: Connection) -> None:
    # Importing takes longer than a dozen steps: done once, before any database is open.
    load_database_module(kind)
    while True:
        path, seed = orders.recv()
        if path is None:
            return
        child = os.fork()
        if child == 0:
            _write(kind, path, seed, orders)
        orders.send(("writer", child))
        os.waitpid(child, 0)
        orders.send("ended")


def _kill_one(orders: Connection, path: Path, seed: int) -> int:
    """Have a writer begin, kill it, and give the last step that it acknowledged."""
    generator = random.Random(seed)
    orders.send((str(path), seed))
    steps, writer, acknowledged = generator.choice([0, 1, 2, 3, 5, 8]), 0, 0
    while not writer or acknowledged < steps:
        message = orders.recv()
        if isinstance(message, tuple):
            writer = message[1]
        else:
            assert message != "ended"
            acknowledged = message
    time.sleep(generator.uniform(0, 0.06))
    os.kill(writer, signal.SIGKILL)
    while (message := orders.recv()) != "ended":
        acknowledged = message
    return acknowledged


def _check_what_is_left(kind: StoreKind, path: Path, seed: int, acknowledged: int) -> None:
    steps, expected = game_steps(seed), ReferenceStore()
    with open_store(kind, path) as store:
        reached = store.last_step or 0
        assert reached in {acknowledged, acknowledged + 1}
        for _ in range(reached):
            expected.apply(next(steps))
        assert contents(store) == contents(expected)
        following = next(steps)
        store.apply(following)
        expected.apply(following)
    with open_store(kind, path) as store:
        assert contents(store) == contents(expected)


@pytest.mark.timeout(60 + 10 * KILLS)
@pytest.mark.parametrize("kind", get_args(StoreKind))
def test_a_kill_loses_no_finished_step_and_leaves_no_half_step(
    kind: StoreKind, tmp_path: Path
) -> None:
    spawn = multiprocessing.get_context("spawn")
    orders, theirs = spawn.Pipe()
    forker = spawn.Process(target=_fork_writers, args=(kind, theirs))
    forker.start()
    theirs.close()
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / graph_file(kind)
        acknowledged = _kill_one(orders, path, number)
        _check_what_is_left(kind, path, number, acknowledged)
    orders.send((None, 0))
    forker.join(timeout=60)
    assert forker.exitcode == 0
