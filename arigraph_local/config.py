"""The configuration of a run, read from and written to TOML."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from arigraph_local.ablations import ABLATIONS
from arigraph_local.agent.settings import AgentSettings
from arigraph_local.errors import UsageError
from arigraph_local.llm.settings import EngineSettings
from arigraph_local.memory.settings import MemorySettings

DEFAULT_MODEL = "smollm2-135m"
DEFAULT_EMBEDDER = "all-minilm-l6-v2"


NO_MODEL = "none"
"""The name of model and embedder in a run whose player needs neither."""

PlayerName = Literal["ariadne", "human", "random", "walkthrough", "oracle"]


class RunConfig(BaseModel):
    """One episode: which game, player, model, memory and agent. Equal configs give equal event
    logs, but for what a person types.

    `show_graph` gives a human player the memory that the agent has, shown at every step; only it
    and Ariadne use a model. For the others `model` and `embedder` are `none`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    game: str = Field(min_length=1)
    player: PlayerName = "ariadne"
    show_graph: bool = False
    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    embedder: str = Field(default=DEFAULT_EMBEDDER, min_length=1)
    prompts: str = Field(default="default", min_length=1)
    seed: int = Field(default=0, ge=0, lt=2**63)
    engine: EngineSettings = EngineSettings()
    memory: MemorySettings = MemorySettings()
    agent: AgentSettings = AgentSettings()

    @property
    def needs_model(self) -> bool:
        """Whether anything in the run is read, planned or decided by a model."""
        return _needs_model(self.player, self.show_graph)

    @property
    def ablations(self) -> tuple[str, ...]:
        """The names of the parts that Ariadne and its memory have and these settings leave out."""
        if self.player != "ariadne":
            return ()
        return tuple(
            name
            for name, part in ABLATIONS.items()
            if getattr(getattr(self, part.table), part.setting) == part.value
            and (part.memories is None or self.memory.name in part.memories)
        )

    @model_validator(mode="before")
    @classmethod
    def _none_where_none_is_needed(cls, values: Any) -> Any:
        if not isinstance(values, dict) or _needs_model(
            values.get("player", "ariadne"), values.get("show_graph", False)
        ):
            return values
        return {"model": NO_MODEL, "embedder": NO_MODEL, **values}

    @field_validator("show_graph")
    @classmethod
    def _only_a_person_is_shown_the_graph(cls, shown: bool, info: ValidationInfo) -> bool:
        if shown and info.data.get("player", "human") != "human":
            raise ValueError("the graph is shown to a human player: set player to human")
        return shown

    @field_validator("memory")
    @classmethod
    def _only_ariadne_has_another_memory(
        cls, memory: MemorySettings, info: ValidationInfo
    ) -> MemorySettings:
        player = info.data.get("player", "ariadne")
        if memory.name != "arigraph" and player != "ariadne":
            raise ValueError(f"only ariadne plays with the memory {memory.name}, not {player}")
        return memory

    @field_validator("model", "embedder")
    @classmethod
    def _no_model_for_nothing(cls, name: str, info: ValidationInfo) -> str:
        if {"player", "show_graph"} <= info.data.keys():
            player, show_graph = info.data["player"], info.data["show_graph"]
            if name != NO_MODEL and not _needs_model(player, show_graph):
                raise ValueError(f"the player {player} uses none here: leave it out")
        return name


def _needs_model(player: Any, show_graph: Any) -> bool:
    return player == "ariadne" or bool(show_graph)


def read_config(path: Path, overrides: dict[str, Any] | None = None) -> RunConfig:
    """The config of a TOML file, with values of `overrides` (dotted keys) put over it.

    Raises `UsageError` naming file, line and key for anything that is not understood.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {_reason(error)}") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    try:
        return RunConfig.model_validate(_merged(values, overrides or {}))
    except ValidationError as error:
        raise UsageError(f"{path}:{_line_of(error, text)}: {_describe(error)}") from error


def make_config(values: dict[str, Any]) -> RunConfig:
    """The config of dotted keys, such as `{"game": …, "memory.width": 4}`."""
    try:
        return RunConfig.model_validate(_merged({}, values))
    except ValidationError as error:
        raise UsageError(_describe(error)) from error


def config_toml(config: RunConfig) -> str:
    """The config as TOML, every setting written out; what is unset is left out."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def _merged(values: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    merged = {key: dict(v) if isinstance(v, dict) else v for key, v in values.items()}
    for key, value in overrides.items():
        section, _, name = key.rpartition(".")
        target = merged.setdefault(section, {}) if section else merged
        if isinstance(target, dict):
            target[name] = value
    return merged


def _describe(error: ValidationError) -> str:
    """`key 'a.b': what is wrong`, of the first error."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "unknown key"
    # A rule about several values of a table is not explained by printing the table.
    silent = first["type"] in {"extra_forbidden", "missing"} or isinstance(first["input"], dict)
    given = "" if silent else f" (got {first['input']!r})"
    return f"key '{'.'.join(map(str, first['loc']))}': {message}{given}"


def _line_of(error: ValidationError, text: str) -> int:
    """The line of the first error's key; of its table, or 1, if it stands on none."""
    location = [str(part) for part in error.errors()[0]["loc"]]
    table: list[str] = []
    found = 1
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = [part.strip(" \"'") for part in header[1].split(".")]
            if table == location[: len(table)]:
                found = number
        elif key := re.match(r"\s*([\w\-.\"' ]+?)\s*=", line):
            path = [*table, *(part.strip(" \"'") for part in key[1].split("."))]
            if path == location[: len(path)]:
                return number
    return found


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not UTF-8 text"
