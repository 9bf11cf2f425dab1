"""What a models folder knows beyond the catalogue: local models added by name, and checksums
recorded at the first fetch. Kept in `registry.toml` in that folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.llm.files.gguf import read_header
from arigraph_local.llm.files.transfer import (
    Report,
    digest_of,
    disk_errors,
    expand_user,
    ignore_progress,
    size_of,
)

FILE_NAME = "registry.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_EMBEDDER_FILES = ("modules.json", "config.json")


class ModelKind(StrEnum):
    """A language model in one GGUF file, or a sentence-transformers folder."""

    GGUF = "gguf"
    EMBEDDER = "embedder"


class Registered(BaseModel):
    """A model on disk, with the size and SHA-256 measured when it was registered.

    A relative `path` starts at the models folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ModelKind
    path: Path
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _RegistryFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    models: dict[str, Registered] = Field(default_factory=dict)


def load_registry(folder: Path) -> dict[str, Registered]:
    """The registered models of a models folder, by name; none if it has no registry.

    Raises `ModelFileError` naming the file and the key when it cannot be understood.
    """
    path = folder / FILE_NAME
    try:
        return _RegistryFile.model_validate(tomllib.loads(path.read_text("utf-8"))).models
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ModelFileError(f"{path}: {key}: {first['msg']}") from error


def record(folder: Path, name: str, registered: Registered) -> None:
    """Write one model into the registry, keeping the others. Atomic."""
    import tomli_w

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        models = {**load_registry(folder), name: registered}
        text = tomli_w.dumps(_RegistryFile(models=models).model_dump(mode="json"))
        temporary = folder / f".{FILE_NAME}.{os.getpid()}"
        try:
            temporary.write_text(text, "utf-8")
            temporary.replace(folder / FILE_NAME)
        finally:
            temporary.unlink(missing_ok=True)


def kind_of(path: Path) -> ModelKind:
    """What lies at `path`, a GGUF file or an embedder's folder.

    Raises `ModelFileError` when it is neither.
    """
    if not path.is_dir():
        read_header(path)
        return ModelKind.GGUF
    if not any((path / name).is_file() for name in _EMBEDDER_FILES):
        raise ModelFileError(
            f"{path}: not a sentence-transformers folder: it has no {' or '.join(_EMBEDDER_FILES)}"
        )
    return ModelKind.EMBEDDER


def add(name: str, path: Path, folder: Path, report: Report = ignore_progress) -> Registered:
    """Register a GGUF file or an embedder's folder under `name`; nothing is copied.

    Raises `UsageError` for a name that cannot be used, `ModelFileError` for a bad file.
    """
    if not _NAME.fullmatch(name) or name.endswith(".gguf"):
        raise UsageError(
            f"'{name}' cannot name a model: use letters, digits, dots, dashes and underscores, "
            "not ending in .gguf"
        )
    path = expand_user(path).resolve()
    kind = kind_of(path)
    with disk_errors(path):
        registered = Registered(
            kind=kind, path=path, bytes=size_of(path), sha256=digest_of(path, report)
        )
    record(folder, name, registered)
    return registered
