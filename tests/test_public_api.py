"""The public names: all there, imported when used."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from word_embedder import WordEmbedder

import arigraph_local
from arigraph_local.llm.scripted import ScriptedEngine

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
# What the model of the README extracts from its two observations.
READ = [
    [["brass key", "is in", "study"], ["letter", "is in", "study"], ["study", "has exit", "east"]],
    [["brass key", "is in", "inventory"]],
]


def test_every_public_name_can_be_used() -> None:
    for name in arigraph_local.__all__:
        assert getattr(arigraph_local, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Arigraf"):
        _ = arigraph_local.Arigraf


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, arigraph_local; print([m for m in ('numpy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readmes_python_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a scripted model in the place of the real one: the same triplets, other scores."""
    engine = ScriptedEngine({"extract": map(json.dumps, READ), "outdated": ["E1>N1"]})
    monkeypatch.setattr(arigraph_local, "load_engine", lambda _: engine, raising=False)
    monkeypatch.setattr(arigraph_local, "load_embedder", WordEmbedder, raising=False)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```.*?```\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for code, shown in blocks:
        exec(code, names)
        assert sorted(without_scores(capsys.readouterr().out)) == sorted(without_scores(shown))
    assert (tmp_path / "study.graphml").is_file()


def without_scores(text: str) -> list[str]:
    return [re.sub(r"^\d\.\d\d  ", "", line) for line in text.splitlines()]


def test_every_method_the_readme_names_exists() -> None:
    for names in re.findall(r"^\| (`\w+\(.*?) \|", README, re.MULTILINE):
        for name in re.findall(r"`(\w+)\(", names):
            assert hasattr(arigraph_local.AriGraph, name) or name in arigraph_local.__all__
