"""The TOML files of `envs/`, each read as one pydantic model."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from arigraph_local.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)


def read_definition(path: Path, model: type[Model]) -> Model:
    """Read a TOML file as `model`. Raises `UsageError` naming the file and the field."""
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        where = f"'{path}', {field}" if field else f"'{path}'"
        raise UsageError(f"{where}: {first['msg']}") from error
