from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arigraph_local.cli.models import models_app
from arigraph_local.errors import ArigraphError, ModelFileError, UsageError
from arigraph_local.llm.files import catalogue
from arigraph_local.llm.files.catalogue import CatalogueEntry
from arigraph_local.llm.files.transfer import Progress, Report

MODEL = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)


def run(*arguments: object, folder: Path) -> Result:
    command, *rest = (str(argument) for argument in arguments)
    return CliRunner().invoke(models_app, [command, "--models-dir", str(folder), *rest])


def failure(result: Result) -> ArigraphError:
    assert isinstance(result.exception, ArigraphError), result.output
    return result.exception


@pytest.fixture
def small_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces the catalogue by one small model; returns the file it is fetched from."""
    path = tmp_path / "tiny-source"
    path.write_bytes(MODEL)
    tiny = CatalogueEntry.model_validate(
        {
            "name": "tiny",
            "kind": "gguf",
            "family": "tiny",
            "parameters": 135_000_000,
            "quantisation": "Q4_1",
            "file": "tiny.gguf",
            "bytes": len(MODEL),
            "licence": "MIT",
            "context": 16,
            "hub": {"repository": "someone/tiny", "file": "tiny.gguf"},
        }
    )
    monkeypatch.setattr(catalogue, "load_catalogue", lambda: {"tiny": tiny})
    monkeypatch.setattr("arigraph_local.llm.files.integrity.load_catalogue", lambda: {"tiny": tiny})

    def download(url: str, partial: Path, expected: int | None, report: Report) -> None:
        report(Progress(0, expected, "downloading"))
        partial.write_bytes(path.read_bytes())

    monkeypatch.setattr("arigraph_local.llm.files.hub.download", download)
    return path


def test_list_shows_every_model(tmp_path: Path) -> None:
    result = run("list", folder=tmp_path)
    assert result.exit_code == 0
    smol = next(line for line in result.output.splitlines() if line.startswith("smollm2-135m"))
    assert smol.split() == [
        "smollm2-135m",
        "gguf",
        "135M",
        "Q4_1",
        *("98", "MB"),
        "8192",
        "no",
        "Apache-2.0",
    ]
    assert "all-minilm-l6-v2" in result.output
    assert f"folder: {tmp_path}" in result.output


def test_list_as_json_is_one_object(small_catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    run("fetch", "tiny", folder=folder)
    run("add", "mine", small_catalogue, folder=folder)
    report = json.loads(run("list", "--json", folder=folder).output)
    assert report["folder"] == str(folder)
    tiny, mine = report["models"]
    assert (tiny["name"], tiny["fetched"], tiny["parameters"]) == ("tiny", True, 135_000_000)
    assert (mine["name"], mine["fetched"], mine["path"]) == ("mine", True, str(small_catalogue))


def test_fetch_says_where_and_does_nothing_twice(small_catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    first = run("fetch", "tiny", "tiny", folder=folder)
    assert first.exit_code == 0
    assert f"tiny: fetched to {folder / 'tiny.gguf'}" in first.stdout
    assert "tiny: downloading 0 of 0 MB" in first.stderr
    assert (folder / "tiny.gguf").read_bytes() == MODEL
    small_catalogue.unlink()
    second = run("fetch", "tiny", folder=folder)
    assert second.stdout == f"tiny: already there and intact: {folder / 'tiny.gguf'}\n"


def test_fetch_checks_all_names_before_it_starts(small_catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    error = failure(run("fetch", "tiny", "tinny", folder=folder))
    assert isinstance(error, UsageError)
    assert str(error) == "unknown model 'tinny': did you mean tiny?"
    assert not folder.exists()


def test_fetch_of_an_added_model_is_refused(small_catalogue: Path, tmp_path: Path) -> None:
    run("add", "mine", small_catalogue, folder=tmp_path)
    error = failure(run("fetch", "mine", folder=tmp_path))
    assert str(error) == f"'mine' was added from {small_catalogue}: nothing to fetch"


def test_fetch_that_fails_is_an_error_of_the_model(small_catalogue: Path, tmp_path: Path) -> None:
    small_catalogue.write_bytes(MODEL[:-1])
    error = failure(run("fetch", "tiny", folder=tmp_path / "models"))
    assert isinstance(error, ModelFileError)
    assert str(error).startswith("tiny: the download is wrong and was discarded: 23 bytes")


def test_verify_finds_the_wrong_one(small_catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    run("fetch", "tiny", folder=folder)
    run("add", "mine", small_catalogue, folder=folder)
    intact = run("verify", folder=folder)
    assert intact.exit_code == 0
    assert intact.stdout.splitlines() == [
        f"tiny: intact: {folder / 'tiny.gguf'}",
        f"mine: intact: {small_catalogue}",
    ]
    (folder / "tiny.gguf").write_bytes(MODEL[:8] + b"\1" + MODEL[9:])
    wrong = run("verify", folder=folder)
    assert wrong.exit_code == 1
    assert f"tiny: wrong: {folder / 'tiny.gguf'}: SHA-256 " in wrong.stdout
    assert "mine: intact" in wrong.stdout
    assert run("verify", "mine", folder=folder).exit_code == 0


def test_verify_of_a_model_that_is_not_there(small_catalogue: Path, tmp_path: Path) -> None:
    nothing = run("verify", folder=tmp_path)
    assert (nothing.exit_code, nothing.stdout) == (0, f"no models in {tmp_path}\n")
    asked = run("verify", "tiny", folder=tmp_path)
    assert (asked.exit_code, asked.stdout) == (1, f"tiny: absent: {tmp_path / 'tiny.gguf'}\n")
    assert isinstance(failure(run("verify", "tinny", folder=tmp_path)), UsageError)


def test_add_measures_and_tells_what_it_replaced(small_catalogue: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(MODEL + b"more")
    run("add", "mine", small_catalogue, folder=tmp_path)
    result = run("add", "mine", other, folder=tmp_path)
    assert result.stdout.startswith(f"mine: {other} (0 MB, SHA-256 ")
    assert f"mine was {small_catalogue} before" in result.stdout


def test_add_refuses_what_is_not_a_model(small_catalogue: Path, tmp_path: Path) -> None:
    small_catalogue.write_text("hello")
    error = failure(run("add", "mine", small_catalogue, folder=tmp_path / "models"))
    assert "not a GGUF file: it starts with b'hello'" in str(error)
    assert "is a catalogue name" in str(failure(run("add", "tiny", "x", folder=tmp_path)))
    assert not (tmp_path / "models").exists()


def test_help_imports_nothing_heavy() -> None:
    heavy = ("torch", "sentence_transformers", "llama_cpp", "kuzu", "pydantic", "numpy")
    code = (
        "import sys; from arigraph_local.cli import models; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
