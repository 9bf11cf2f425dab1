"""The catalogue of models, and finding one of them on disk."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arigraph_local.errors import ModelFileError, UsageError, unknown_name
from arigraph_local.llm.files.gguf import read_header
from arigraph_local.llm.files.registry import ModelKind, kind_of, load_registry
from arigraph_local.llm.files.transfer import expand_user, size_of
from arigraph_local.resources import data_folder

FOLDER_VARIABLE = "ARIGRAPH_MODELS"
_CLOSED = ConfigDict(extra="forbid", frozen=True)


class WheelSource(BaseModel):
    """A model carried by one Python package, or cut into `parts` packages.

    `{part}` in `package` and `member` stands for the part's number, from 1. `member` is a file
    pattern inside the wheel: one file for a GGUF, all files of the folder for an embedder.
    """

    model_config = _CLOSED

    package: str
    version: str
    member: str
    parts: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _parts_are_named(self) -> Self:
        if (self.parts > 1) != ("{part}" in self.package):
            raise ValueError("'{part}' belongs in package exactly when there is more than one part")
        return self

    def wheels(self) -> list[tuple[str, str]]:
        """`(requirement, member pattern)` of each part, in the order they are joined."""
        return [
            (
                f"{self.package.replace('{part}', str(part))}=={self.version}",
                self.member.replace("{part}", str(part)),
            )
            for part in range(1, self.parts + 1)
        ]


class HubSource(BaseModel):
    """A file in a repository of the Hugging Face hub."""

    model_config = _CLOSED

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    file: str
    revision: str = "main"


class CatalogueEntry(BaseModel):
    """One model that can be fetched by name.

    `file` is its file or folder in the models folder. `parameters` counts weights, `context` is
    in tokens. A hub model without `sha256` has its checksum recorded at the first fetch.
    `chat_format` is set where the GGUF carries no chat template. `threshold` (similarity below
    which a triplet is not retrieved) and `dimensions` belong to embedders.
    """

    model_config = _CLOSED

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    kind: ModelKind
    family: str
    parameters: int = Field(gt=0)
    quantisation: str
    file: str = Field(pattern=r"^[\w-][\w.-]*$")
    bytes: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    licence: str
    context: int = Field(gt=0)
    chat_format: str | None = None
    threshold: float | None = Field(default=None, ge=-1, le=1)
    dimensions: int | None = Field(default=None, gt=0)
    wheel: WheelSource | None = None
    hub: HubSource | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.wheel is None) == (self.hub is None):
            raise ValueError("exactly one of wheel and hub is needed")
        if self.wheel is not None and (self.sha256 is None or self.bytes is None):
            raise ValueError("a model from a wheel needs bytes and sha256")
        if self.kind is ModelKind.EMBEDDER and None in (self.threshold, self.dimensions):
            raise ValueError("an embedder needs threshold and dimensions")
        if self.kind is ModelKind.EMBEDDER and self.hub is not None:
            raise ValueError("an embedder is a folder, which a hub source cannot give")
        return self


class _CatalogueFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    models: list[CatalogueEntry]


@dataclass(frozen=True)
class LocatedModel:
    """A model that is on disk. `sha256` is the known checksum; it was not measured again."""

    path: Path
    name: str
    sha256: str | None
    entry: CatalogueEntry | None
    kind: ModelKind


def load_catalogue(path: Path | None = None) -> dict[str, CatalogueEntry]:
    """The entries of `models/catalog.toml` (or of the file given) by name, in its order.

    Raises `UsageError` naming the file, line or entry, and key that is wrong.
    """
    path = path or data_folder("models") / "catalog.toml"
    try:
        text = path.read_text("utf-8")
        entries = _CatalogueFile.model_validate(tomllib.loads(text)).models
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {_first_fault(error, text)}") from error
    for field in ("name", "file"):
        values = [getattr(entry, field) for entry in entries]
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise UsageError(f"{path}: two models have the {field} '{twice}'")
    return {entry.name: entry for entry in entries}


def _first_fault(error: ValidationError, text: str) -> str:
    """Where the first fault is (line where it can be told, key) and what it is."""
    first = error.errors()[0]
    location = first["loc"]
    key = ".".join(str(part) for part in location[2:] or location)
    entry = location[1] if len(location) > 1 and isinstance(location[1], int) else None
    starts = [n for n, line in enumerate(text.splitlines()) if line.strip() == "[[models]]"]
    where = ""
    if entry is not None and entry < len(starts):
        line = starts[entry]
        for number, content in enumerate(text.splitlines()[line + 1 :], line + 1):
            if content.strip() == "[[models]]":
                break
            if re.match(rf"\s*\[?(models\.)?{re.escape(str(location[-1]))}\s*[=\]]", content):
                line = number
                break
        where = f"line {line + 1}: "
    return f"{where}{key}: {first['msg'].removeprefix('Value error, ')}"


def models_folder(override: Path | None = None) -> Path:
    """Where models are kept: `override`, else `ARIGRAPH_MODELS`, else the user's data folder."""
    if override is not None:
        return expand_user(override).absolute()
    if variable := os.environ.get(FOLDER_VARIABLE):
        return expand_user(Path(variable)).absolute()
    from platformdirs import user_data_path

    return user_data_path("arigraph-local", appauthor=False) / "models"


def locate(name_or_path: str, folder: Path, kind: ModelKind | None = None) -> LocatedModel:
    """The model of that catalogue name, registered name or path, checked to be there and whole.

    Raises `UsageError` for an unknown name or a model of another kind than asked for, and
    `ModelFileError` for a known model that is not on disk, or a file that is not whole.
    """
    catalogue, registry = load_catalogue(), load_registry(folder)
    if name_or_path in catalogue:
        entry = catalogue[name_or_path]
        recorded = registry.get(entry.name)
        sha256 = entry.sha256 or (recorded.sha256 if recorded else None)
        located = LocatedModel(folder / entry.file, entry.name, sha256, entry, entry.kind)
        _check_fetched(located, folder)
    elif name_or_path in registry:
        known = registry[name_or_path]
        located = LocatedModel(
            folder / known.path, name_or_path, known.sha256, entry=None, kind=known.kind
        )
        _check_registered(located, known.bytes)
    else:
        path = _existing_path(name_or_path, [*catalogue, *registry])
        located = LocatedModel(path, path.stem, sha256=None, entry=None, kind=kind_of(path))
    if kind is not None and located.kind is not kind:
        raise UsageError(f"'{name_or_path}' is of kind {located.kind}, but {kind} is wanted")
    return located


def _existing_path(text: str, known: list[str]) -> Path:
    path = expand_user(Path(text))
    try:
        if path.exists():
            return path.absolute()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    if len(path.parts) > 1 or path.suffix == ".gguf":
        raise ModelFileError(f"{path}: no such file")
    raise unknown_name("model", text, known)


def _check_fetched(model: LocatedModel, folder: Path) -> None:
    fetch = f"arigraph models fetch {model.name}"
    if not model.path.exists():
        raise ModelFileError(f"model '{model.name}' is not in {folder}: run `{fetch}`")
    expected = model.entry.bytes if model.entry else None
    if expected is not None and size_of(model.path) != expected:
        raise ModelFileError(
            f"{model.path}: {size_of(model.path)} bytes instead of {expected}: "
            f"run `{fetch}` to fetch it again"
        )
    if expected is None and model.kind is ModelKind.GGUF:
        read_header(model.path)


def _check_registered(model: LocatedModel, expected: int) -> None:
    if not model.path.exists():
        raise ModelFileError(f"{model.path}, registered as '{model.name}', is no longer there")
    if size_of(model.path) != expected:
        raise ModelFileError(
            f"{model.path} has changed since it was registered as '{model.name}': "
            f"run `arigraph models add {model.name} {model.path}` if that is meant"
        )


def check_new_name(name: str, catalogue: Mapping[str, CatalogueEntry], folder: Path) -> None:
    """Refuse, with `UsageError`, to register a model under a name of the catalogue."""
    if name in catalogue:
        raise UsageError(
            f"'{name}' is a catalogue name: choose another, or copy the file to "
            f"{folder / catalogue[name].file}"
        )
