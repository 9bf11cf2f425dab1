"""From a game's name or path to an environment that is ready to be played."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arigraph_local.envs.environment import Environment, TrueFact
from arigraph_local.envs.games import (
    DEFAULT_STEP_LIMIT,
    FAMILIES,
    LIVE_FAMILIES,
    GameName,
    game_digest,
    is_game_file,
    make_game,
    parse_game_name,
)
from arigraph_local.envs.process_child import Say
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.envs.story_file import story_digest
from arigraph_local.envs.textworld_env import TextWorldEnvironment


@dataclass(frozen=True)
class OpenGame:
    """A game and what is known of it. Call `environment.reset` before the first step.

    `digest` is a SHA-256 of all that the game consists of. `walkthrough` wins every point of a
    game that was made here, and is Jericho's for a game that it knows; it is empty where none is
    known. `family` names the family whose oracle can play it. `story` is an absolute path, or
    None where a world is no file.
    """

    environment: Environment
    name: str
    digest: str
    step_limit: int = DEFAULT_STEP_LIMIT
    walkthrough: tuple[str, ...] = ()
    family: str | None = None
    story: Path | None = None


def open_game(text: str, say: Say = lambda _: None) -> OpenGame:
    """Open a game given by `family:level@seed` or by the path of a story file.

    Story files are played in a process of their own, which is started again, with the commands
    so far, if the interpreter crashes; `say` is then told. Raises `UsageError` for a bad name,
    `GameError` for a game that cannot be made or read.
    """
    if is_game_file(text):
        return _story(Path(text).absolute(), say)
    name = parse_game_name(text)
    if name.family in LIVE_FAMILIES:
        return _live(name, say)
    files = make_game(name)
    make = partial(play_story, str(files.story.absolute()), files.goal, name.family)
    return OpenGame(
        environment=ProcessEnvironment(make, say=say),
        name=files.name,
        digest=files.digest,
        step_limit=files.step_limit,
        walkthrough=files.walkthrough,
        family=name.family,
        story=files.story.absolute(),
    )


def play_story(path: str, goal: str | None = None, family: str | None = None) -> Environment:
    """A TextWorld game in this process, scored as its family says.

    Without a family it is played as one of the family that knows it, if any does.
    """
    if family is not None:
        return FAMILIES[family].scored(TextWorldEnvironment(path, goal))
    facts = _facts_at_start(path)
    family = _adopting(facts)
    adopted = FAMILIES[family].adopt(facts) if family is not None else None
    if adopted is None:
        return TextWorldEnvironment(path)
    return adopted.scored(TextWorldEnvironment(path, adopted.goal))


def _story(path: Path, say: Say) -> OpenGame:
    digest = story_digest(path)
    # TextWorld reads the description of a .z8 only.
    if path.suffix == ".z8" and path.with_suffix(".json").is_file():
        return _from_elsewhere(path, say)
    from arigraph_local.envs.jericho_env import JerichoEnvironment, known_walkthrough

    return OpenGame(
        environment=ProcessEnvironment(partial(JerichoEnvironment, str(path)), say=say),
        name=path.stem,
        digest=digest,
        walkthrough=known_walkthrough(path),
        story=path,
    )


def _from_elsewhere(path: Path, say: Say) -> OpenGame:
    environment = ProcessEnvironment(partial(play_story, str(path)), say=say)
    try:
        environment.reset()
        family = _adopting(environment.true_facts())
    except BaseException:
        environment.close()
        raise
    return OpenGame(
        environment=environment,
        name=path.stem,
        digest=game_digest(path),
        family=family,
        story=path,
    )


def _live(name: GameName, say: Say) -> OpenGame:
    family = LIVE_FAMILIES[name.family]
    definition = family.definition(name.level)
    return OpenGame(
        environment=family.open(name.level, name.seed, say),
        name=str(name),
        digest=hashlib.sha256(f"{definition}\n{name}".encode()).hexdigest(),
        step_limit=family.levels()[name.level].step_limit,
    )


def _adopting(facts: frozenset[TrueFact]) -> str | None:
    return next((name for name, one in FAMILIES.items() if one.adopt(facts)), None)


def _facts_at_start(path: str) -> frozenset[TrueFact]:
    environment = TextWorldEnvironment(path)
    try:
        environment.reset()
        return environment.true_facts()
    finally:
        environment.close()
