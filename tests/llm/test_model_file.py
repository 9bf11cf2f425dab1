from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files import model_file
from arigraph_local.llm.files.catalogue import LocatedModel, load_catalogue
from arigraph_local.llm.files.model_file import Fingerprint, checked_sha256, measured_sha256
from arigraph_local.llm.files.registry import ModelKind


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def located(path: Path, sha256: str | None, name: str = "mine") -> LocatedModel:
    return LocatedModel(path, name, sha256, load_catalogue().get(name), ModelKind.GGUF)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_file_left_alone_is_hashed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured_sha256(path) == sha256(b"weights")
    monkeypatch.setattr(model_file, "file_sha256", lambda _: "measured again")
    assert measured_sha256(path) == sha256(b"weights")
    path.write_bytes(b"other weights")
    assert measured_sha256(path) == "measured again"


def test_an_exchanged_file_of_the_same_size_and_time_is_noticed(path: Path) -> None:
    assert checked_sha256(located(path, sha256(b"weights"))) == sha256(b"weights")
    times = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"WEIGHTS")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    with pytest.raises(ModelFileError) as caught:
        checked_sha256(located(path, sha256(b"weights")))
    assert "not the file known as 'mine'" in str(caught.value)
    assert "arigraph models add mine" in str(caught.value)


def test_a_catalogue_model_is_to_be_fetched_again(path: Path) -> None:
    with pytest.raises(ModelFileError, match="run `arigraph models fetch smollm2-135m`"):
        checked_sha256(located(path, "0" * 64, "smollm2-135m"))


def test_a_model_without_a_known_checksum_is_measured(path: Path) -> None:
    assert checked_sha256(located(path, None)) == sha256(b"weights")


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": 1}', b"\xff\xfe"])
def test_a_damaged_list_of_checksums_only_costs_time(
    path: Path, tmp_path: Path, content: bytes
) -> None:
    store = tmp_path / "cache/arigraph-local/checksums.json"
    store.parent.mkdir(parents=True)
    store.write_bytes(content)
    assert measured_sha256(path) == sha256(b"weights")
    assert measured_sha256(path) == sha256(b"weights")


def test_a_list_that_cannot_be_written_only_costs_time(path: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert measured_sha256(path) == sha256(b"weights")


def test_a_file_that_changes_after_loading_is_noticed(path: Path) -> None:
    seen = Fingerprint.of(path)
    seen.check(path)
    path.write_bytes(b"longer weights")
    with pytest.raises(ModelFileError, match=r"model\.gguf has changed since it was loaded"):
        seen.check(path)
    path.unlink()
    with pytest.raises(ModelFileError, match=r"cannot read the model .*model\.gguf"):
        seen.check(path)
