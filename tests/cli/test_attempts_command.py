"""`arigraph play --attempts` and the scores of attempts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from three_rooms import ThreeRooms

from arigraph_local.cli.app import run
from arigraph_local.envs.opening import OpenGame
from arigraph_local.runs.attempts import Attempts
from arigraph_local.runs.run_folder import RESULT


@pytest.fixture(autouse=True)
def _three_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every game is the three rooms, in this process."""

    def opened(name: str, say: object) -> OpenGame:
        del say
        return OpenGame(ThreeRooms(), name, "three rooms", 9)

    monkeypatch.setattr("arigraph_local.runs.equipment.open_game", opened)


def play(*arguments: object) -> int:
    return run(["play", *(str(argument) for argument in arguments)])


def test_five_attempts_end_in_the_papers_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all"
    assert play("hunt:easy@1", "--player", "random", "--attempts", 5, "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    parts = [one["normalised_score"] for one in told["attempts"]]
    assert len(parts) == 5
    assert told["best_normalised"] == pytest.approx(sum(sorted(parts)[-3:]) / 3)
    assert len({one["run"] for one in told["attempts"]}) == 5
    seeds = [Attempts.existing(out).folder(n).config().seed for n in range(1, 6)]
    assert seeds == [0, 1, 2, 3, 4]

    assert run(["score", str(out), "--json"]) == 0
    (score,) = json.loads(capsys.readouterr().out)["scores"]
    assert (score["n"], score["best_normalised"]) == (5, pytest.approx(told["best_normalised"]))


def test_attempts_go_on_where_they_were_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "all"
    step = ThreeRooms.step

    def leave(game: ThreeRooms, command: str) -> object:
        if (out / "attempt-2").exists() and len(game.commands) == 2:
            raise KeyboardInterrupt
        return step(game, command)

    monkeypatch.setattr(ThreeRooms, "step", leave)
    assert (
        play("hunt:easy@1", "--player", "random", "--attempts", 3, "--out", out, "--quiet") == 130
    )
    told = capsys.readouterr()
    assert f"arigraph play --resume {out}\n" in told.err
    assert "attempt 2 of 3" in told.out
    begun = Attempts.existing(out).begun_folders()
    assert [(path / RESULT).exists() for path in begun] == [True, False]
    monkeypatch.setattr(ThreeRooms, "step", step)
    assert play("--resume", out, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["attempts"]) == 3


def test_an_option_beside_resume_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play("--resume", tmp_path, "--attempts", 2) == 2
    assert "give no other setting" in capsys.readouterr().err


def test_attempts_that_cannot_begin_leave_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all"
    assert play("hunt:easy@1", "--model", "nowhere.gguf", "--attempts", 2, "--out", out) == 1
    assert "nowhere.gguf" in capsys.readouterr().err
    assert not out.exists()
