"""Several attempts at one game: the paper plays each game five times (section 4).

Each attempt is a run of its own, in a folder `attempt-N` under that of all. Its config says all
that it needs, what it takes over from the attempt before included: it can be run again alone.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arigraph_local.baselines.reflexion import lessons_after
from arigraph_local.config import RunConfig
from arigraph_local.errors import RunError, UsageError
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import CONFIG, RunFolder, check_new, write_whole

FILE = "attempts.toml"
_SEEDS = 2**63


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    attempts: int = Field(ge=1, le=1000)
    run: RunConfig


@dataclass(frozen=True)
class Attempts:
    """`count` attempts under `path`, numbered from 1; `first` is the config of the first."""

    path: Path
    first: RunConfig
    count: int

    @classmethod
    def new(cls, path: Path, config: RunConfig, count: int) -> Attempts:
        """Attempts to be played; nothing is written yet. Raises `UsageError` if the folder holds
        runs already."""
        check_new(path)
        if is_attempts(path):
            raise UsageError(
                f"{path}: already holds attempts; go on with 'arigraph play --resume {path}' "
                "or choose another --out"
            )
        return cls(path, config, count)

    def write(self) -> None:
        """Write down what is to be played. Raises `RunError` if that cannot be written."""
        run = self.first.model_dump(mode="json", exclude_none=True)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.path / FILE, tomli_w.dumps({"attempts": self.count, "run": run}))
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from error

    @classmethod
    def existing(cls, path: Path) -> Attempts:
        """Attempts begun earlier. Raises `UsageError` if their file cannot be understood."""
        file = path / FILE
        try:
            text = file.read_text(encoding="utf-8")
            written = _Written.model_validate(tomllib.loads(text))
        except (OSError, ValueError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"{file}: not attempts of this version: {reason}") from error
        return cls(path, written.run, written.attempts)

    def folder(self, number: int) -> RunFolder:
        """The run folder of an attempt, whether it was begun or not."""
        return RunFolder(self.path / f"attempt-{number}")

    def begun(self, number: int) -> bool:
        """Whether an attempt has a run folder."""
        return (self.folder(number).path / CONFIG).is_file()

    def begun_folders(self) -> list[Path]:
        """The run folders that there are, in order."""
        numbers = filter(self.begun, range(1, self.count + 1))
        return [self.folder(number).path for number in numbers]

    def config(self, number: int) -> RunConfig:
        """The config of an attempt that has not begun; the one before must be finished.

        Each attempt has the next seed. Lessons are taken over by the memory that has them, and
        every other memory starts empty.
        """
        seed = (self.first.seed + number - 1) % _SEEDS
        config = self.first.model_copy(update={"seed": seed})
        if number == 1 or config.memory.name != "reflexion":
            return config
        before = self.folder(number - 1)
        lessons = lessons_after(before.config().memory.lessons, read_events(before.path))
        memory = config.memory.model_copy(update={"lessons": lessons})
        return config.model_copy(update={"memory": memory})


def is_attempts(path: Path) -> bool:
    """Whether a folder holds attempts rather than one run."""
    return (path / FILE).is_file()
