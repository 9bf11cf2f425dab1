"""The command line: what it says about wrong input, and how fast it answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arigraph_local.cli.app import run
from arigraph_local.runs.event_log import FILE
from arigraph_local.runs.run_folder import CONFIG

HEAVY = ("torch", "sentence_transformers", "llama_cpp", "kuzu", "textworld", "llguidance", "jinja2")


def fails(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Exit code and the one line of error of a command that must fail."""
    code = run([str(argument) for argument in arguments])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("error: ")
    assert "Traceback" not in error
    return code, error


@pytest.mark.parametrize("arguments", [["--help"], ["play", "--help"], ["models", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from arigraph_local.cli.app import run; "
        f"assert run({arguments!r}) == 0; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("demo", "play", "models", "games"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["plya"], "No such command 'plya'"),
        (["play"], "name a game"),
        (["play", "hunt:standrad"], "did you mean standard"),
        (["play", "hnut:easy"], "unknown game family 'hnut': did you mean hunt?"),
        (["play", "hunt:easy@x"], "seed"),
        (["play", "hunt:easy", "--model", "smollm"], "did you mean smollm2-135m"),
        (["play", "hunt:easy", "--steps", "0"], "key 'agent.steps'"),
        (["play", "hunt:easy", "--steps", "ten"], "--steps"),
        (["play", "hunt:easy", "--prompts", "defualt"], "did you mean default?"),
        (["play", "hunt:easy", "--chat-format", "chat-ml"], "did you mean chatml?"),
        (["play", "--resume", "no-such-run"], "not a run folder"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
    tmp_path: Path,
) -> None:
    out: list[str | Path] = ["--out", tmp_path / "run"]
    plays = arguments[-1] not in {"plya", "play", "no-such-run"}
    code, error = fails(capsys, *arguments, *(out if plays else []))
    assert code == 2
    assert expected in error
    assert not (tmp_path / "run").exists()


def test_a_model_that_is_not_fetched_says_how_to_fetch_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, error = fails(capsys, "play", "hunt:easy", "--models-dir", tmp_path)
    assert code == 1
    assert "arigraph models fetch smollm2-135m" in error


@pytest.mark.parametrize("content", [b"", b"GGUF", b"MZ\x90\x00 not a model", b"GGUF\x03\0\0\0"])
def test_a_file_that_is_no_whole_gguf_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    code, error = fails(capsys, "play", "hunt:easy", "--model", path, "--out", tmp_path / "run")
    assert code == 1
    assert str(path) in error
    assert not (tmp_path / "run").exists()


def test_a_damaged_game_is_named_by_its_whole_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alone.z8").write_bytes(b"\x08" + bytes(1023))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("arigraph_local.runs.equipment._model_file", lambda *_: tmp_path)
    monkeypatch.setattr("arigraph_local.runs.equipment.load_embedder", lambda *_: NoEmbedder())
    code, error = fails(capsys, "play", "alone.z8", "--out", tmp_path / "run")
    assert code == 1
    assert str(tmp_path / "alone.z8") in error
    assert not (tmp_path / "run").exists()


class NoEmbedder:
    """Stands where an embedder would begin to load."""

    def start_loading(self) -> None:
        """Nothing to load."""


def test_a_config_fault_names_file_line_and_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.toml"
    path.write_text('game = "hunt:easy"\n\n[agent]\nstep = 4\n')
    code, error = fails(capsys, "play", "--config", path)
    assert code == 2
    assert f"{path}:4: key 'agent.step': unknown key" in error


def test_a_folder_that_holds_a_run_is_refused_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / CONFIG).write_text('game = "hunt:easy"\n')
    (tmp_path / FILE).write_text("")
    code, error = fails(capsys, "play", "hunt:easy", "--out", tmp_path)
    assert code == 2
    assert "already holds a run" in error
    assert f"--resume {tmp_path}" in error


def test_a_file_in_the_place_of_the_run_folder_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "run").write_text("mine")
    code, error = fails(capsys, "play", "hunt:easy", "--out", tmp_path / "run")
    assert code == 2
    assert "is a file" in error
    assert (tmp_path / "run").read_text() == "mine"


def test_resume_takes_no_other_setting(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, error = fails(capsys, "play", "--resume", tmp_path, "--steps", "3")
    assert code == 2
    assert "give no other setting" in error


def test_a_bug_is_one_line_too_and_debug_shows_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("arigraph_local.config.make_config", broken)
    code, error = fails(capsys, "play", "hunt:easy")
    assert code == 1
    assert "ZeroDivisionError: oops" in error
    with pytest.raises(ZeroDivisionError):
        run(["play", "hunt:easy", "--debug"])
