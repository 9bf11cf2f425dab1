"""Several attempts at one game, each a run of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from three_rooms_runs import folder_of, gear

from arigraph_local.config import make_config
from arigraph_local.errors import UsageError
from arigraph_local.runs.attempts import FILE, Attempts, is_attempts
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import run_episode

LESSON = "Take the key first, then open the locker."


def attempts(path: Path, memory: str, count: int = 3) -> Attempts:
    values = {"game": "three-rooms", "memory.name": memory, "seed": 7}
    config = make_config(values | {"agent.navigation": "walked"})
    several = Attempts.new(path, config, count)
    several.write()
    return several


def play(several: Attempts, number: int, steps: int) -> RunFolder:
    folder = RunFolder.create(several.folder(number).path, several.config(number))
    run_episode(folder, gear(steps=steps))
    return folder


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    several = attempts(tmp_path / "all", "rag")
    assert is_attempts(tmp_path / "all")
    assert Attempts.existing(tmp_path / "all") == several


def test_each_attempt_has_the_next_seed_and_nothing_else_changes(tmp_path: Path) -> None:
    several = attempts(tmp_path / "all", "simulacra")
    play(several, 1, steps=2)
    assert several.config(2) == several.first.model_copy(update={"seed": 8})


def test_lessons_are_carried_from_attempt_to_attempt(tmp_path: Path) -> None:
    several = attempts(tmp_path / "all", "reflexion")
    assert several.config(1).memory.lessons == ()
    play(several, 1, steps=2)
    assert play(several, 2, steps=3).config().memory.lessons == (LESSON,)
    assert several.config(3).memory.lessons == (LESSON, LESSON)
    assert [several.begun(number) for number in (1, 2, 3)] == [True, True, False]
    assert [path.name for path in several.begun_folders()] == ["attempt-1", "attempt-2"]


def test_a_folder_that_holds_runs_already_is_refused(tmp_path: Path) -> None:
    attempts(tmp_path / "all", "rag")
    with pytest.raises(UsageError, match="already holds attempts; go on with"):
        attempts(tmp_path / "all", "rag")
    folder_of(tmp_path / "run", "rag")
    with pytest.raises(UsageError, match="already holds a run"):
        attempts(tmp_path / "run", "rag")


@pytest.mark.parametrize("text", ["", "attempts = 0\n[run]\ngame = 'x'", "attempts = [", "\xff"])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=rf"{FILE}: not attempts of this version: \S"):
        Attempts.existing(tmp_path)
