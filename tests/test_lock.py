"""The lock: exclusive, named, and free again whatever becomes of its holder."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.config import RunConfig
from arigraph_local.errors import RunError
from arigraph_local.lock import acquire
from arigraph_local.runs.run_folder import RunFolder

SPAWN = multiprocessing.get_context("spawn")


def taken_by(holder: str) -> str:
    return f"taken by {holder}"


def _hold(path: str, arguments: list[str], told: Any, wait: Any) -> None:
    sys.argv = arguments
    with acquire(Path(path), taken_by):
        told.put(os.getpid())
        wait.wait()


def test_the_holder_is_named_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    path, told, wait = tmp_path / "lock", SPAWN.Queue(), SPAWN.Event()
    arguments = ["/usr/bin/arigraph", "play", "hunt", "--seed", "1\n2", "x" * 99]
    holder = SPAWN.Process(target=_hold, args=(str(path), arguments, told, wait))
    holder.start()
    number = told.get(timeout=60)
    with pytest.raises(RunError) as refused:
        acquire(path, taken_by)
    message = str(refused.value)
    assert message.startswith(f"taken by process {number} (arigraph play hunt --seed '1?2' xxx")
    assert message.endswith("…)")
    os.kill(number, signal.SIGKILL)
    holder.join(timeout=60)
    with acquire(path, taken_by):
        pass


def test_a_lock_is_held_once_in_a_process_and_released_once(tmp_path: Path) -> None:
    first = acquire(tmp_path / "lock", taken_by)
    with pytest.raises(RunError, match="taken by this process"):
        acquire(tmp_path / "lock", taken_by)
    first.release()
    first.release()
    with acquire(tmp_path / "lock", taken_by) as second:
        first.release()
        with pytest.raises(RunError, match="taken by this process"):
            acquire(tmp_path / "lock", taken_by)
        assert second.path == tmp_path / "lock"


@given(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
def test_any_text_in_the_lock_file_still_gives_one_clear_refusal(text: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lock"
        path.write_bytes(text)
        with acquire(path, taken_by):
            path.write_bytes(text)
            with pytest.raises(RunError, match=r"^taken by another process$"):
                acquire(path, taken_by)


def test_a_holder_elsewhere_is_named_with_its_host_and_a_dead_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for host, pid, expected in (
        ("elsewhere", 7, r"process 7 on elsewhere \(arigraph play\)"),
        (platform.node(), 2**22 + 1, "another process"),
        (platform.node(), 2**70, "another process|process \\d+"),
    ):
        with acquire(path, taken_by):
            path.write_text(f'{{"pid": {pid}, "host": "{host}", "command": "arigraph play"}}')
            with pytest.raises(RunError, match=f"taken by {expected}"):
                acquire(path, taken_by)


def test_a_forked_child_neither_frees_the_lock_nor_outlives_its_holder_with_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    read, write = os.pipe()
    lock = acquire(path, taken_by)
    child = os.fork()
    if child == 0:
        os.close(write)
        lock.release()
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    with pytest.raises(RunError, match="taken by this process"):
        acquire(path, taken_by)
    lock.release()
    acquire(path, taken_by).release()
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0


def _fork_and_die(path: str, told: Any) -> None:
    lock = acquire(Path(path), taken_by)
    child = os.fork()
    if child == 0:
        signal.pause()
    told.send(child)
    assert lock.path == Path(path)
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_children_of_a_killed_holder_do_not_keep_its_lock(tmp_path: Path) -> None:
    receiver, sender = SPAWN.Pipe(duplex=False)
    holder = SPAWN.Process(target=_fork_and_die, args=(str(tmp_path / "lock"), sender))
    holder.start()
    child = receiver.recv()
    holder.join()
    try:
        acquire(tmp_path / "lock", taken_by).release()
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_lock_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"missing/lock: cannot be written: there is no folder"):
        acquire(tmp_path / "missing" / "lock", taken_by)
    with pytest.raises(RunError, match=rf"{tmp_path}: cannot be written"):
        acquire(tmp_path, taken_by)


def test_a_run_folder_says_who_writes_it(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", RunConfig(game="hunt", model="m"))
    with folder.lock(), pytest.raises(RunError, match="run: this process is writing this run"):
        folder.lock()
