from __future__ import annotations

import struct
from pathlib import Path

import pytest

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.llm.files import registry
from arigraph_local.llm.files.catalogue import (
    CatalogueEntry,
    WheelSource,
    check_new_name,
    load_catalogue,
    locate,
    models_folder,
)
from arigraph_local.llm.files.registry import ModelKind, load_registry

EMPTY_GGUF = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)

ENTRY = """
[[models]]
name = "tiny"
kind = "gguf"
family = "tiny"
parameters = 1
quantisation = "F32"
file = "tiny.gguf"
licence = "MIT"
context = 16
[models.hub]
repository = "someone/tiny"
file = "tiny.gguf"
"""


def local_model(folder: Path, name: str = "mine.gguf") -> Path:
    path = folder / name
    path.write_bytes(EMPTY_GGUF)
    return path


def local_embedder(folder: Path) -> Path:
    path = folder / "embedder"
    path.mkdir()
    (path / "modules.json").write_text("[]")
    return path


def test_the_shipped_catalogue_is_valid_and_complete() -> None:
    catalogue = load_catalogue()
    assert list(catalogue) == [
        "smollm2-135m",
        "gemma-3-270m",
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        "llama-3-8b",
        "all-minilm-l6-v2",
    ]
    assert catalogue["gemma-3-270m"].chat_format == "plain"
    assert catalogue["all-minilm-l6-v2"].kind is ModelKind.EMBEDDER
    assert catalogue["all-minilm-l6-v2"].dimensions == 384
    assert all(entry.parameters > 10_000_000 for entry in catalogue.values())
    assert catalogue["llama-3-8b"].sha256 is None


def test_parts_are_in_number_order() -> None:
    source = WheelSource(package="p-part{part}", version="1", member="d{part}/*", parts=11)
    wheels = source.wheels()
    assert wheels[1] == ("p-part2==1", "d2/*")
    assert [pattern for _, pattern in wheels][-2:] == ["d10/*", "d11/*"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("context = 16", 'context = "long"'), "line 10: context: Input should be a valid integer"),
        (("licence", "license"), "line 9: licence: Field required|line 2: licence: Field required"),
        (('kind = "gguf"', 'kind = "onnx"'), "line 4: kind: "),
        (('file = "tiny.gguf"\nlicence', 'file = "../x"\nlicence'), "line 8: file: "),
        (("context = 16", "context = 16\ncolour = 1"), "line 11: colour: Extra inputs"),
        (("[models.hub]", "[models.hug]"), "line 11: hug: Extra inputs"),
        (("context = 16", "context = "), r"not valid TOML: .*line 10"),
    ],
)
def test_a_fault_in_the_catalogue_is_located(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(ENTRY.replace(*change))
    with pytest.raises(UsageError, match=message) as caught:
        load_catalogue(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(ENTRY + ENTRY)
    with pytest.raises(UsageError, match="two models have the name 'tiny'"):
        load_catalogue(path)


def test_a_wheel_model_must_have_a_checksum(tmp_path: Path) -> None:
    wheel = '[models.wheel]\npackage = "p"\nversion = "1"\nmember = "*"\n'
    path = tmp_path / "catalog.toml"
    path.write_text(ENTRY[: ENTRY.index("[models.hub]")] + wheel)
    with pytest.raises(UsageError, match="needs bytes and sha256"):
        load_catalogue(path)


def test_where_models_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARIGRAPH_MODELS", str(tmp_path / "variable"))
    assert models_folder(tmp_path / "option") == tmp_path / "option"
    assert models_folder() == tmp_path / "variable"
    monkeypatch.delenv("ARIGRAPH_MODELS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert models_folder() == tmp_path / "data" / "arigraph-local" / "models"


def test_an_unknown_name_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown model 'smolm2-135': did you mean smollm2-135m"):
        locate("smolm2-135", tmp_path)


def test_a_model_not_fetched_says_how(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="run `arigraph models fetch smollm2-135m`"):
        locate("smollm2-135m", tmp_path)


def test_a_fetched_model_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    entry = load_catalogue()["smollm2-135m"]
    (tmp_path / entry.file).write_bytes(EMPTY_GGUF)
    with pytest.raises(ModelFileError, match=f"24 bytes instead of {entry.bytes}"):
        locate("smollm2-135m", tmp_path)


def test_a_path_to_any_gguf(tmp_path: Path) -> None:
    path = local_model(tmp_path)
    located = locate(str(path), tmp_path / "models")
    assert (located.path, located.name, located.entry) == (path, "mine", None)
    assert located.kind is ModelKind.GGUF
    assert located.sha256 is None


def test_a_path_to_something_else(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ModelFileError, match="not a GGUF file"):
        locate(str(tmp_path / "page.gguf"), tmp_path)
    with pytest.raises(ModelFileError, match="no such file"):
        locate(str(tmp_path / "absent.gguf"), tmp_path)
    with pytest.raises(ModelFileError, match="not a sentence-transformers folder"):
        locate(str(tmp_path), tmp_path)
    with pytest.raises(ModelFileError, match="cannot be read: File name too long"):
        locate("x" * 5000, tmp_path)


def test_the_kind_that_is_wanted(tmp_path: Path) -> None:
    path = local_embedder(tmp_path)
    assert locate(str(path), tmp_path, ModelKind.EMBEDDER).path == path
    with pytest.raises(UsageError, match="is of kind embedder, but gguf is wanted"):
        locate(str(path), tmp_path, ModelKind.GGUF)


def test_an_added_model_is_found_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    path, embedder = local_model(tmp_path), local_embedder(tmp_path)
    added = registry.add("my-model", path, folder)
    registry.add("my-embedder", embedder, folder)
    located = locate("my-model", folder)
    assert (located.path, located.sha256) == (path, added.sha256)
    assert locate("my-embedder", folder).kind is ModelKind.EMBEDDER
    assert set(load_registry(folder)) == {"my-model", "my-embedder"}
    assert [file.name for file in folder.iterdir()] == ["registry.toml"]


def test_an_added_model_that_changed_or_went_is_refused(tmp_path: Path) -> None:
    path = local_model(tmp_path)
    registry.add("my-model", path, tmp_path)
    path.write_bytes(EMPTY_GGUF + b"more")
    with pytest.raises(ModelFileError, match="has changed since it was registered"):
        locate("my-model", tmp_path)
    path.unlink()
    with pytest.raises(ModelFileError, match="registered as 'my-model', is no longer there"):
        locate("my-model", tmp_path)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x.gguf", "-x", "é"])
def test_names_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a model"):
        registry.add(name, local_model(tmp_path), tmp_path)
    assert not (tmp_path / registry.FILE_NAME).exists()


def test_a_catalogue_name_is_not_given_away(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'smollm2-135m' is a catalogue name"):
        check_new_name("smollm2-135m", load_catalogue(), tmp_path)


@pytest.mark.parametrize("content", ["models = 1", "[models", "[models.x]\nkind = 'gguf'"])
def test_a_damaged_registry_is_named_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / registry.FILE_NAME
    path.write_text(content)
    with pytest.raises(ModelFileError, match=r"registry\.toml: "):
        locate("anything", tmp_path)
    with pytest.raises(ModelFileError):
        registry.add("mine", local_model(tmp_path), tmp_path)
    assert path.read_text() == content


def test_an_embedder_entry_needs_its_threshold() -> None:
    entry = load_catalogue()["all-minilm-l6-v2"].model_dump()
    with pytest.raises(ValueError, match="threshold and dimensions"):
        CatalogueEntry.model_validate({**entry, "threshold": None})
