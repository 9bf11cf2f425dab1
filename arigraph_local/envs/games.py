"""Games by name: `family:level@seed`, made on demand and cached, or a path to a `.z8`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.envs.environment import Environment
from arigraph_local.envs.family import GameFamily
from arigraph_local.envs.hunt import HuntFamily, published_goal
from arigraph_local.envs.textworld_env import GENERIC_GOAL, TextWorldEnvironment
from arigraph_local.errors import GameError, UsageError, unknown_name

FAMILIES: dict[str, GameFamily] = {family.name: family for family in [HuntFamily()]}
"""Every family of generated games. Add one here and it can be listed, made and played."""

BUILDER_VERSION = 1
"""Part of a cached game's key: raise it whenever the code of a builder changes its games."""

DEFAULT_STEP_LIMIT = 150
MAX_SEED = 2**31 - 1
CACHE_VARIABLE = "ARIGRAPH_GAMES"

_NAME = re.compile(r"(?P<family>[^:@]+):(?P<level>[^:@]+)(?:@(?P<seed>.*))?", re.DOTALL)
_RECORD = "made.json"


@dataclass(frozen=True)
class GameName:
    """One game of a family: `str()` gives the form that `parse_game_name` reads."""

    family: str
    level: str
    seed: int

    def __str__(self) -> str:
        return f"{self.family}:{self.level}@{self.seed}"

    @property
    def file_stem(self) -> str:
        """The name in a form fit for a file."""
        return f"{self.family}-{self.level}-{self.seed}"


@dataclass(frozen=True)
class GameFiles:
    """A game on disk.

    `story` is the `.z8`, `facts` the `.json` beside it. `walkthrough` wins all `max_score`
    points; it is empty for a game that was not made here. `digest` is the SHA-256 of both files.
    """

    name: str
    story: Path
    facts: Path
    walkthrough: tuple[str, ...]
    max_score: int
    goal: str
    step_limit: int
    digest: str


class _Record(BaseModel):
    """`made.json`, written last: what the two files of a cached game cannot say themselves."""

    model_config = ConfigDict(extra="forbid")

    name: str
    walkthrough: tuple[str, ...]
    max_score: int
    goal: str
    step_limit: int
    digest: str


def parse_game_name(text: str) -> GameName:
    """Read `family:level` (seed 0) or `family:level@seed`.

    Raises `UsageError` for anything else, with the nearest names if one is unknown.
    """
    match = _NAME.fullmatch(text.strip())
    if match is None:
        if text in FAMILIES:
            levels = ", ".join(f"{text}:{level}" for level in FAMILIES[text].levels())
            raise UsageError(f"'{text}' needs a level: one of {levels}")
        raise UsageError(
            f"'{text}' is not a game: write family:level, family:level@seed or a path to a .z8"
        )
    if match["family"] not in FAMILIES:
        raise unknown_name("game family", match["family"], FAMILIES)
    levels_known = FAMILIES[match["family"]].levels()
    if match["level"] not in levels_known:
        raise unknown_name(f"level of {match['family']}", match["level"], levels_known)
    seed = match["seed"] if match["seed"] is not None else "0"
    if not re.fullmatch(r"[0-9]{1,10}", seed, re.ASCII) or int(seed) > MAX_SEED:
        raise UsageError(f"'{text}': the seed must be a whole number from 0 to {MAX_SEED}")
    return GameName(match["family"], match["level"], int(seed))


def games_folder() -> Path:
    """Where made games are kept: `ARIGRAPH_GAMES`, else a per-user cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_cache_path("arigraph-local") / "games"


def make_game(name: GameName | str, folder: Path | None = None) -> GameFiles:
    """The game of that name, made in `folder` (default `games_folder()`) unless it is there.

    A game is made in a temporary folder and moved into place, so that it is whole or absent,
    and so that processes making the same game at once do not disturb each other. Raises
    `UsageError` for a bad name and `GameError` if the game or the folder cannot be made.
    """
    name = parse_game_name(name) if isinstance(name, str) else name
    folder = folder or games_folder()
    final = folder / f"{name.file_stem}-{_key(name)}"
    found = _read(final, name)
    if found is not None:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as scratch:
            draft = Path(scratch) / final.name
            draft.mkdir()
            _build(name, draft)
            _move_into_place(draft, final, name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise GameError(f"cannot make games in '{folder}': {reason}") from error
    made = _read(final, name)
    if made is None:
        raise GameError(f"the game {name} in '{final}' is damaged")
    return made


def open_game(text: str) -> tuple[Environment, GameFiles]:
    """The environment of a game given by name or by path to a `.z8`, and what is known of it.

    Call `reset` before the first step. Raises `UsageError` for a bad name, `GameError` for a
    game that cannot be made or read.
    """
    path = Path(text)
    if path.suffix != ".z8":
        files = make_game(text)
        return TextWorldEnvironment(files.story, files.goal), files
    environment = TextWorldEnvironment(path)
    if environment.goal == GENERIC_GOAL:
        environment.reset()
        goal = published_goal(environment.true_facts())
        environment.close()
        environment = TextWorldEnvironment(path, goal)
    return environment, GameFiles(
        name=path.stem,
        story=path,
        facts=path.with_suffix(".json"),
        walkthrough=(),
        max_score=environment.max_score,
        goal=environment.goal,
        step_limit=DEFAULT_STEP_LIMIT,
        digest=_digest(path),
    )


def _key(name: GameName) -> str:
    from importlib.metadata import version

    parts = [
        str(BUILDER_VERSION),
        version("textworld"),
        FAMILIES[name.family].definition(name.level),
        str(name),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _digest(story: Path) -> str:
    content = story.read_bytes() + story.with_suffix(".json").read_bytes()
    return hashlib.sha256(content).hexdigest()


def _build(name: GameName, folder: Path) -> None:
    story = folder / f"{name.file_stem}.z8"
    built = FAMILIES[name.family].build(name.level, name.seed, story)
    record = _Record(
        name=str(name),
        walkthrough=built.walkthrough,
        max_score=built.max_score,
        goal=built.goal,
        step_limit=built.step_limit,
        digest=_digest(story),
    )
    (folder / _RECORD).write_text(record.model_dump_json(indent=2), encoding="utf-8")


def _read(folder: Path, name: GameName) -> GameFiles | None:
    """The cached game, or None if it is absent or not as it was made."""
    story = folder / f"{name.file_stem}.z8"
    try:
        record = _Record.model_validate_json((folder / _RECORD).read_bytes())
        whole = record.digest == _digest(story)
    except (OSError, ValidationError):
        return None
    if not whole:
        return None
    return GameFiles(
        name=record.name,
        story=story,
        facts=story.with_suffix(".json"),
        walkthrough=record.walkthrough,
        max_score=record.max_score,
        goal=record.goal,
        step_limit=record.step_limit,
        digest=record.digest,
    )


def _move_into_place(draft: Path, final: Path, name: GameName) -> None:
    if final.exists() and _read(final, name) is None:
        # Into the scratch folder: it goes with it, and `final` is free at once.
        final.rename(draft.parent / "damaged")
    try:
        draft.rename(final)
    except OSError:
        if _read(final, name) is None:
            raise
        shutil.rmtree(draft)
