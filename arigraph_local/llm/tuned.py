"""Engine settings that were found fastest on a machine, kept beside the models.

They stand in for settings that a user leaves open. A run writes down what it used, so the same
config gives the same run whatever is found later.
"""

from __future__ import annotations

import os
import platform
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.llama.context_options import FlashAttention
from arigraph_local.llm.llama.threads import logical_cores
from arigraph_local.llm.settings import EngineSettings

FILE_NAME = "tuned.toml"


class Tuned(BaseModel):
    """The fastest settings of one model on one machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: str
    model: str
    threads: int = Field(ge=1, le=1024)
    flash_attention: FlashAttention
    n_ubatch: int = Field(ge=32, le=512)


class _TunedFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tuned: tuple[Tuned, ...] = ()


def this_machine() -> str:
    """The processor's name and how many of its cores this process may use."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration, IndexError):
        pass
    return f"{cpu}, {logical_cores()} cores"


def save_tuned(folder: Path, tuned: Tuned) -> Path:
    """Write it into the models folder in place of what was known of this model here. Atomic."""
    import tomli_w

    others = [one for one in _read(folder) if _key(one) != _key(tuned)]
    text = tomli_w.dumps(_TunedFile(tuned=(*others, tuned)).model_dump(mode="json"))
    path = folder / FILE_NAME
    temporary = folder / f".{FILE_NAME}.{os.getpid()}"
    try:
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def with_tuned(settings: EngineSettings, model: str, folder: Path) -> EngineSettings:
    """The settings, those left open taken from what was found fastest here.

    Raises `ModelFileError` naming the file when it cannot be understood.
    """
    if settings.server is not None or settings.gpu_layers:
        return settings
    here = this_machine()
    found = [one for one in _read(folder) if _key(one) == (here, model)]
    if not found:
        return settings
    values = found[0].model_dump(exclude={"machine", "model"})
    if settings.n_batch < found[0].n_ubatch or settings.kv_type.startswith("q"):
        values = {"threads": found[0].threads}
    open_values = {k: v for k, v in values.items() if k not in settings.model_fields_set}
    return settings.model_copy(update=open_values)


def _key(tuned: Tuned) -> tuple[str, str]:
    return tuned.machine, tuned.model


def _read(folder: Path) -> tuple[Tuned, ...]:
    path = folder / FILE_NAME
    try:
        return _TunedFile.model_validate(tomllib.loads(path.read_text("utf-8"))).tuned
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ModelFileError(f"{path}: {key}: {first['msg']}") from error
