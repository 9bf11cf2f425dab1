"""The file of vectors: killed, full, damaged, foreign, another's. Never a wrong vector."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hashed_embedder import HashedEmbedder

from arigraph_local.errors import ArigraphError, RunError
from arigraph_local.memory.search.text_vectors import TextVectors

DIMENSIONS = 96


def batch(number: int) -> list[str]:
    return [f"thing {number} {place}, is in, room" for place in range(8)]


def embedder() -> HashedEmbedder:
    return HashedEmbedder(DIMENSIONS)


def fill(path: Path, batches: int) -> None:
    vectors = TextVectors(embedder(), file=path)
    for number in range(batches):
        vectors.of(batch(number))
    vectors.close()


def check(path: Path, batches: int) -> set[str]:
    """Open `path` and see that every vector is right; the texts that were not held."""
    opened = embedder()
    vectors = TextVectors(opened, file=path)
    texts = [text for number in range(batches) for text in batch(number)]
    expected = TextVectors(embedder()).of(texts)
    assert vectors.of(texts).tobytes() == expected.tobytes()
    vectors.close()
    assert len(opened.calls) <= 1
    return set(opened.embedded)


def _write_for_ever(path: str, answers: Any) -> None:
    vectors = TextVectors(embedder(), file=Path(path))
    for number in range(100_000):
        vectors.of(batch(number))
        answers.send(number)


def test_a_kill_loses_no_batch_that_was_written_and_leaves_none_in_part(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    for kill in range(3):
        path = tmp_path / f"{kill}.vectors"
        receiver, sender = spawn.Pipe(duplex=False)
        writer = spawn.Process(target=_write_for_ever, args=(str(path), sender))
        writer.start()
        done = -1
        while done < 20 + 37 * kill:
            assert receiver.poll(60)
            done = receiver.recv()
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        with contextlib.suppress(EOFError):
            while receiver.poll(0):
                done = receiver.recv()
        missing = check(path, done + 3)
        assert missing in ({*batch(done + 1), *batch(done + 2)}, {*batch(done + 2)})


def _write_until_the_disk_is_full(path: str, answers: Any) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    vectors = TextVectors(embedder(), file=Path(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
    for number in range(1000):
        try:
            vectors.of(batch(number))
        except RunError as error:
            answers.send((number, len(vectors), str(error)))
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    vectors.of(batch(number))
    vectors.close()


def test_a_full_disk_is_one_clear_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    writer = spawn.Process(target=_write_until_the_disk_is_full, args=(str(path), sender))
    writer.start()
    assert receiver.poll(60)
    failed, held, message = receiver.recv()
    writer.join(timeout=60)
    assert writer.exitcode == 0
    assert held == 8 * failed
    assert message.startswith(f"cannot read or write the vectors in {path}: ")
    assert "\n" not in message
    # Once there was room again the batch that failed went through.
    assert check(path, failed + 2) == {*batch(failed + 1)}


def test_no_damage_gives_a_wrong_vector(tmp_path: Path) -> None:
    whole = tmp_path / "whole.vectors"
    fill(whole, 6)
    data = whole.read_bytes()
    generator = random.Random(5)
    damaged = tmp_path / "graph.vectors"
    refusals = []
    for trial in range(120):
        content = bytearray(data)
        if trial % 4 == 0:
            del content[generator.randrange(len(data)) :]
        else:
            # The first pages hold the header and the schema.
            end = len(data) if trial % 2 else 200
            content[generator.randrange(end)] ^= 1 << generator.randrange(8)
        damaged.write_bytes(content)
        try:
            missing = check(damaged, 6)
        except RunError as error:
            refusals.append(str(error))
        else:
            assert len(missing) in (0, 48)
            assert not missing or any(tmp_path.glob("graph.vectors.set-aside-*")) or not content
        for file in tmp_path.glob("graph.vectors*"):
            file.unlink()
    assert len(refusals) < 20
    assert all(str(damaged) in refusal and "\n" not in refusal for refusal in refusals)


def test_a_damaged_log_leaves_a_whole_prefix(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    vectors = TextVectors(embedder(), file=path)
    for number in range(6):
        vectors.of(batch(number))
    log = Path(f"{path}-wal").read_bytes()
    data = path.read_bytes()
    vectors.close()
    generator = random.Random(6)
    for trial in range(40):
        folder = tmp_path / str(trial)
        folder.mkdir()
        content = bytearray(log)
        if trial % 2:
            del content[generator.randrange(len(log)) :]
        else:
            content[generator.randrange(len(log))] ^= 1 << generator.randrange(8)
        (folder / path.name).write_bytes(data)
        (folder / f"{path.name}-wal").write_bytes(content)
        missing = check(folder / path.name, 6)
        assert len(missing) % 8 == 0
        assert missing == {
            text for number in range(6 - len(missing) // 8, 6) for text in batch(number)
        }


def _foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE holiday (day TEXT)")


def _later_version(path: Path) -> None:
    fill(path, 6)
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("notes to self\n" * 100),
        lambda path: path.write_bytes(os.urandom(50_000)),
        _foreign,
        _later_version,
    ],
    ids=["text", "noise", "another schema", "another version"],
)
def test_a_foreign_file_is_set_aside_untouched(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    for number in (1, 2):
        make(path)
        content = path.read_bytes()
        assert len(check(path, 6)) == 48
        assert (tmp_path / f"graph.vectors.set-aside-{number}").read_bytes() == content
        assert check(path, 6) == set()
        path.unlink()


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    path.touch()
    assert len(check(path, 2)) == 16
    assert check(path, 2) == set()
    assert [file.name for file in tmp_path.iterdir()] == ["graph.vectors"]


def test_opening_without_writing_leaves_no_file(tmp_path: Path) -> None:
    TextVectors(embedder(), file=tmp_path / "graph.vectors").close()
    assert list(tmp_path.iterdir()) == []


def test_the_vectors_of_another_embedder_are_refused_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    fill(path, 1)
    with pytest.raises(ArigraphError) as caught:
        TextVectors(HashedEmbedder(DIMENSIONS, name="other"), file=path)
    assert str(caught.value) == (
        f"{path} holds vectors of embedder 'hashed', not of 'other': "
        f"delete {path} to embed everything again"
    )
    vectors = TextVectors(HashedEmbedder(5), file=path)
    with pytest.raises(ArigraphError) as caught:
        vectors.of(["new"])
    assert str(caught.value) == (
        f"embedder 'hashed' gave a vector of 5 dimensions for 'new', {path} holds vectors of "
        f"{DIMENSIONS}: delete {path} to embed everything again"
    )
    vectors.close()
    assert check(path, 1) == set()


def test_a_second_opener_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    holder = TextVectors(embedder(), file=path)
    holder.of(batch(0))
    with pytest.raises(RunError, match="it is already open"):
        TextVectors(embedder(), file=path)
    holder.close()
    assert check(path, 1) == set()


@pytest.mark.parametrize("name", ["missing/graph.vectors", "folder"])
def test_a_path_that_cannot_be_a_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match=f"^cannot read or write the vectors in {tmp_path / name}: "):
        TextVectors(embedder(), file=tmp_path / name).of(["key"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_file_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.vectors"
    fill(path, 1)
    path.chmod(0o400)
    with pytest.raises(RunError, match=f"^cannot read or write the vectors in {path}: "):
        TextVectors(embedder(), file=path).of(["key"])


def test_vectors_held_still_answer_after_closing(tmp_path: Path) -> None:
    vectors = TextVectors(embedder(), file=tmp_path / "graph.vectors")
    before = vectors.of(["key"])
    vectors.close()
    assert np.array_equal(vectors.of(["key"]), before)
