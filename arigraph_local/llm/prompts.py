"""Prompt sets: a folder with one template a task beside the grammar its reply must obey.

`TASK.j2` holds the blocks `system` and `user`; `TASK.gbnf.j2` the GBNF grammar. Both are Jinja2,
so a researcher changes what a model is asked without touching code. `TASK.examples.toml`, where it
is there, holds worked examples.
"""

from __future__ import annotations

import json
import tomllib
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from pydantic import BaseModel, TypeAdapter, ValidationError

from arigraph_local.errors import UsageError, unknown_name
from arigraph_local.resources import data_folder

Record = TypeVar("Record", bound=BaseModel)


def gbnf_literal(text: str) -> str:
    """`text` as a quoted GBNF terminal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def gbnf_json_string(text: str) -> str:
    """A GBNF terminal that matches the JSON string of `text`, quotes included."""
    return gbnf_literal(json.dumps(text, ensure_ascii=False))


class PromptSet:
    """The templates of one folder under `prompts/`, or of any folder given by path."""

    def __init__(self, name: str = "default") -> None:
        """Raises `UsageError` if there is no such prompt set."""
        self.name = name
        self._folder = _find(name)
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self._folder),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._environment.filters["gbnf"] = gbnf_literal
        self._environment.filters["gbnf_json"] = gbnf_json_string

    def system(self, task: str, **values: Any) -> str:
        """The system turn of a task: the same for every step of an episode."""
        return self._block(task, "system", values)

    def user(self, task: str, **values: Any) -> str:
        """The user turn of a task."""
        return self._block(task, "user", values)

    def examples(self, task: str, record: type[Record]) -> list[Record]:
        """The worked examples of `TASK.examples.toml`, or none if the set has no such file.

        Raises `UsageError` naming the file if it is not TOML, and the key if an example is not
        such a record.
        """
        path = self._folder / f"{task}.examples.toml"
        if not path.is_file():
            return []
        try:
            examples = tomllib.loads(path.read_text(encoding="utf-8")).get("example", [])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: not valid TOML: {error}") from error
        try:
            return TypeAdapter(list[record]).validate_python(examples)  # type: ignore[valid-type]
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, ("example", *first["loc"])))
            raise UsageError(f"{path}: {key}: {first['msg']}") from error

    def grammar(self, task: str, **values: Any) -> str:
        """The GBNF grammar of a task's reply."""
        with self._readable_errors(f"{task}.gbnf.j2"):
            return self._environment.get_template(f"{task}.gbnf.j2").render(**values)

    def _block(self, task: str, block: str, values: dict[str, Any]) -> str:
        with self._readable_errors(f"{task}.j2"):
            template = self._environment.get_template(f"{task}.j2")
            if block not in template.blocks:
                raise UsageError(f"{self._folder / f'{task}.j2'}: has no block '{block}'")
            context = template.new_context(values)
            return "".join(template.blocks[block](context)).strip()

    @contextmanager
    def _readable_errors(self, file: str) -> Iterator[None]:
        """Turn Jinja2's errors into one line that names the template file, included ones too."""
        try:
            yield
        except jinja2.TemplateNotFound as error:
            missing = self._folder / (error.name or file)
            raise UsageError(f"{missing}: missing from the prompt set") from error
        except jinja2.TemplateSyntaxError as error:
            place = error.filename or self._folder / file
            raise UsageError(f"{place}:{error.lineno}: {error.message}") from error
        except jinja2.TemplateError as error:
            raise UsageError(f"{self._place(error) or self._folder / file}: {error}") from error

    def _place(self, error: jinja2.TemplateError) -> str | None:
        """`FILE:LINE` of the template that failed: Jinja2 puts templates into the traceback."""
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if Path(frame.filename).parent == self._folder]
        return f"{inside[-1].filename}:{inside[-1].lineno}" if inside else None


def _find(name: str) -> Path:
    if Path(name).is_dir() and ("/" in name or name.startswith(".")):
        return Path(name)
    root = data_folder("prompts")
    names = [folder.name for folder in root.iterdir() if folder.is_dir()]
    if name not in names:
        raise unknown_name("prompt set", name, names)
    return root / name
