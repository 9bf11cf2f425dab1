"""Games by name: `family:level@seed`, made on demand and cached."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.envs.cleaning import CleaningFamily
from arigraph_local.envs.cooking import CookingFamily
from arigraph_local.envs.family import Family, GameFamily, LiveFamily
from arigraph_local.envs.hunt import HuntFamily
from arigraph_local.envs.nethack.family import NetHackFamily
from arigraph_local.errors import GameError, UsageError, unknown_name

_GAME_FAMILIES: list[GameFamily] = [HuntFamily(), CleaningFamily(), CookingFamily()]
_LIVE_FAMILIES: list[LiveFamily] = [NetHackFamily()]

FAMILIES = {family.name: family for family in _GAME_FAMILIES}
"""Every family of generated games. Add one above and it can be listed, made and played."""

LIVE_FAMILIES = {family.name: family for family in _LIVE_FAMILIES}
"""Every family of worlds that are made as they are played."""

BUILDER_VERSION = 2
"""Part of a cached game's key: raise it whenever the code of a builder changes its games."""

DEFAULT_STEP_LIMIT = 150
MAX_SEED = 2**31 - 1
CACHE_VARIABLE = "ARIGRAPH_GAMES"

_NAME = re.compile(r"(?P<family>[^:@]+):(?P<level>[^:@]+)(?:@(?P<seed>.*))?", re.DOTALL)
_STORY_SUFFIX = re.compile(r"\.(z[1-8]|ulx|zblorb|gblorb|blb)", re.IGNORECASE)
_RECORD = "made.json"
_MAKING = threading.Lock()


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


def all_families() -> dict[str, Family]:
    """The families of generated games and of live worlds, by name."""
    return {**FAMILIES, **LIVE_FAMILIES}


def is_game_file(text: str) -> bool:
    """Whether this is the path of a story file, by its ending, rather than a game's name."""
    return _STORY_SUFFIX.fullmatch(Path(text).suffix) is not None


def parse_game_name(text: str) -> GameName:
    """Read `family:level` (seed 0) or `family:level@seed`.

    Raises `UsageError` for anything else, with the nearest names if one is unknown.
    """
    match = _NAME.fullmatch(text.strip())
    families = all_families()
    if match is None:
        if text in families:
            levels = ", ".join(f"{text}:{level}" for level in families[text].levels())
            raise UsageError(f"'{text}' needs a level: one of {levels}")
        raise UsageError(
            f"'{text}' is not a game: write family:level, family:level@seed or the path of a "
            "story file (.z8, .ulx, .z5 and the like)"
        )
    if match["family"] not in families:
        raise unknown_name("game family", match["family"], families)
    levels_known = families[match["family"]].levels()
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
    and so that processes making the same game at once do not disturb each other; threads make
    one game after the other, as TextWorld's parsers are shared. Raises `UsageError` for a bad
    name and `GameError` if the game or the folder cannot be made.
    """
    name = parse_game_name(name) if isinstance(name, str) else name
    if name.family in LIVE_FAMILIES:
        raise UsageError(f"'{name}' is made as it is played: there are no files to make")
    folder = folder or games_folder()
    final = folder / f"{name.file_stem}-{_key(name)}"
    with _MAKING:
        return _read(final, name) or _made(name, folder, final)


def _made(name: GameName, folder: Path, final: Path) -> GameFiles:
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


def _key(name: GameName) -> str:
    from importlib.metadata import version

    parts = [
        str(BUILDER_VERSION),
        version("textworld"),
        FAMILIES[name.family].definition(name.level),
        str(name),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def game_digest(story: Path) -> str:
    """The SHA-256 of a story file and the `.json` beside it."""
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
        digest=game_digest(story),
    )
    (folder / _RECORD).write_text(record.model_dump_json(indent=2), encoding="utf-8")


def _read(folder: Path, name: GameName) -> GameFiles | None:
    """The cached game, or None if it is absent or not as it was made."""
    story = folder / f"{name.file_stem}.z8"
    try:
        record = _Record.model_validate_json((folder / _RECORD).read_bytes())
        whole = record.digest == game_digest(story)
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
