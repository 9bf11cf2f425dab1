"""The folder of a run: its config, its log, its graph, its result."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.config import RunConfig, config_toml, read_config
from arigraph_local.errors import RunError, UsageError
from arigraph_local.lock import Lock, acquire
from arigraph_local.memory.graph.stores import graph_file
from arigraph_local.runs import event_log

CONFIG = "config.toml"
RESULT = "result.json"


class TaskCost(BaseModel):
    """Calls, tokens and seconds of one task, or of all; `cached` calls came from a cache."""

    model_config = ConfigDict(extra="forbid")

    calls: int = 0
    computed: int = 0
    reused: int = 0
    generated: int = 0
    seconds: float = 0.0
    cached: int = 0


class RunResult(BaseModel):
    """What a finished run came to. `seconds` is wall-clock time of its steps, pauses left out.

    `normalised_score` is None where the game has no highest score (`max_score` 0).
    """

    model_config = ConfigDict(extra="forbid")

    version: int = 1
    game: str
    player: str = "ariadne"
    memory: str = "arigraph"
    ablations: tuple[str, ...] = ()
    model: str
    reason: str
    score: int
    max_score: int
    normalised_score: float | None
    steps: int
    facts: int
    retired: int
    fallbacks: int
    tokens: TaskCost
    tasks: dict[str, TaskCost]
    seconds: float


class RunFolder:
    """A run folder on disk. `lock` it before writing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunFolder:
        """A new folder with its config in it.

        Raises `UsageError` if the folder already holds a run, `RunError` if it cannot be written.
        """
        check_new(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_whole(path / CONFIG, config_toml(config))
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror}") from error
        return cls(path)

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The folder of a run begun earlier. Raises `UsageError` if there is none."""
        if not (path / CONFIG).is_file():
            raise UsageError(f"{path}: not a run folder (no {CONFIG})")
        return cls(path)

    @property
    def graph(self) -> Path:
        """The graph database, a projection of the log."""
        return self.path / graph_file(self.config().memory.store)

    def config(self) -> RunConfig:
        """The config the run was begun with."""
        return read_config(self.path / CONFIG)

    def result(self) -> RunResult | None:
        """The result, if the run is finished. Raises `RunError` if the file is damaged."""
        path = self.path / RESULT
        if not path.exists():
            return None
        try:
            return RunResult.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise RunError(f"{path}: not a result of this version") from error

    def write_result(self, result: RunResult) -> None:
        """Write the result, whole or not at all."""
        try:
            write_whole(self.path / RESULT, result.model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise RunError(f"{self.path / RESULT}: cannot be written: {error.strerror}") from error

    def lock(self) -> Lock:
        """Held by whoever writes. Raises `RunError` naming who holds it already."""
        return acquire(
            self.path / ".lock", lambda holder: f"{self.path}: {holder} is writing this run"
        )


def check_new(path: Path) -> None:
    """Raises `UsageError` if `path` is a file or already holds a run."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file, not a folder for a run")
    if (path / event_log.FILE).exists() or (path / CONFIG).exists():
        raise UsageError(
            f"{path}: already holds a run; go on with 'arigraph play --resume {path}' "
            "or choose another --out"
        )


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def dated_folder(config: RunConfig, root: Path = Path("runs")) -> Path:
    """A new folder name such as `runs/2026-01-31-142536-hunt-standard-1-smollm2-135m`.

    A player other than Ariadne stands in the place of the model; a memory other than AriGraph,
    and what is left out, follow the model.
    """
    stamp = dt.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    model = Path(config.model).stem if "/" in config.model else config.model
    memory = () if config.memory.name == "arigraph" else (config.memory.name,)
    left_out = (f"without-{name}" for name in config.ablations)
    player = "-".join((model, *memory, *left_out))
    player = player if config.player == "ariadne" else config.player
    game = Path(config.game).stem if "/" in config.game else config.game
    name = re.sub(r"[^\w.]+", "-", f"{stamp}-{game}-{player}")
    path = root / name
    number = 2
    while path.exists():
        path = root / f"{name}-{number}"
        number += 1
    return path
