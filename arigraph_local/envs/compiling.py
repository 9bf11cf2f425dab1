"""From a TextWorld game in memory to its files: names and compilation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from arigraph_local.envs.story_file import fix_serial
from arigraph_local.errors import GameError

_REPLACED_BY_TEXTWORLD = re.compile(r"[a-z]_[0-9]+|P|I")


@cache
def _knowledge() -> Any:
    """TextWorld's rules, read in a fixed order: its own loader takes its files as the file
    system lists them, and prefers a folder `textworld_data` of the working directory."""
    from textworld.generator.data import LOGIC_DATA_PATH, TEXT_GRAMMARS_PATH, KnowledgeBase
    from textworld.logic import GameLogic

    files = sorted(str(file) for file in Path(LOGIC_DATA_PATH).glob("*.twl"))
    return KnowledgeBase(GameLogic.load(files), TEXT_GRAMMARS_PATH)


def new_maker(seed: int) -> Any:
    """A `textworld.GameMaker` whose texts depend on `seed` alone.

    The seeds are given outright: by default they come from a generator shared by the process.
    """
    from textworld import GameMaker, GameOptions

    options = GameOptions()
    options.kb = _knowledge()
    options.seeds = seed
    return GameMaker(options)


def check_names(names: Iterable[str]) -> None:
    """Raise `GameError` for a name that a game could not keep apart.

    TextWorld silently replaces names that begin like its own variables, and its parser cannot
    tell a name from one that contains it.
    """
    listed = list(names)
    for name in listed:
        if not name.strip() or _REPLACED_BY_TEXTWORLD.match(name):
            raise GameError(f"the name '{name}' cannot be used: TextWorld would replace it")
    for one, other in combinations(sorted(listed, key=len), 2):
        if one.lower() in other.lower():
            raise GameError(f"the names '{one}' and '{other}' cannot be told apart")


def check_made_names(game: Any, wanted: Iterable[str]) -> None:
    """Raise `GameError` unless the names of a built `textworld.Game` can be told apart and all
    those `wanted` are among them."""
    names = [info.name for key, info in game.infos.items() if key not in ("P", "I")]
    check_names(names)
    lost = sorted(set(wanted) - set(names))
    if lost:
        raise GameError(f"TextWorld renamed {', '.join(lost)}")


def compile_game(game: Any, story: Path) -> None:
    """Compile a `textworld.Game` to `story` and write its `.json`, with the same bytes every time.

    Raises `GameError` if the Inform 7 compiler fails or the files cannot be written.
    """
    from textworld.generator.inform7 import (
        CouldNotCompileGameError,
        compile_inform7_game,
        generate_inform7_source,
    )

    try:
        story.with_suffix(".json").write_text(json.dumps(_serialise(game)), encoding="utf-8")
        compile_inform7_game(generate_inform7_source(game), str(story))
        fix_serial(story)
    except CouldNotCompileGameError as error:
        reason = " ".join(str(error).split())[:300]
        raise GameError(f"Inform 7 could not compile '{story.name}': {reason}") from error
    except OSError as error:
        raise GameError(f"cannot make '{story}': {error.strerror or error}") from error
    finally:
        story.with_suffix(".ni").unlink(missing_ok=True)


def _serialise(game: Any) -> dict[str, Any]:
    """The game as its `.json` holds it, without what differs from process to process (the order
    of the used names, a set) and from machine to machine (where TextWorld is installed)."""
    data: dict[str, Any] = dict(game.serialize())
    data["KB"] = {**data["KB"], "text_grammars_path": "text_grammars"}
    used = data["grammar"]["names_to_exclude"]
    data["grammar"] = {**data["grammar"], "names_to_exclude": sorted(filter(None, used))}
    return data
