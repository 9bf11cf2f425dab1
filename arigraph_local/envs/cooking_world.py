"""Cooking games in memory, by TextWorld's own challenge: equal seeds make equal games."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

from arigraph_local.envs.cooking_definition import CookingLevel
from arigraph_local.errors import GameError


def make_world(level: CookingLevel, objective: str, seed: int) -> Any:
    """The `textworld.Game` that `tw-make tw-cooking --seed` makes with this level's settings.

    Nothing in it depends on the process or the machine. Raises `GameError` if TextWorld fails.
    """
    from textworld import GameOptions

    options = GameOptions()
    options.seeds = seed
    try:
        game = _maker(level.carry_limit)(_settings(level), options)
    except (AssertionError, AttributeError, LookupError, ValueError) as error:
        raise GameError(f"TextWorld cannot make this cooking game: {error}") from error
    if game.metadata["max_score"] != level.max_score:
        raise GameError(f"the recipe gives {game.metadata['max_score']}, not {level.max_score}")
    for quest in game.quests:
        # They come from sets, whose order differs from process to process.
        quest.fail_events = sorted(quest.fail_events, key=lambda event: str(event.condition))
    told = ("seeds", "settings", "ingredients", "max_score")
    game.metadata = {key: game.metadata[key] for key in told}
    game.objective = objective
    return game


def _settings(level: CookingLevel) -> dict[str, Any]:
    return {
        "recipe": level.ingredients,
        "take": level.ingredients,
        "go": level.rooms,
        "open": level.closed,
        "cook": level.cook,
        "cut": level.cut,
        "drop": level.carry_limit,
        "split": None if level.foods == "all" else level.foods,
        "recipe_seed": 0,
    }


@cache
def _maker(carry_limit: bool) -> Any:
    """The challenge's `make`, with two of the names it looks up standing for something else.

    The rules are ours, read once: it would read them anew for every game, in the order in which
    the file system lists their files. Its walkthrough is not recorded, for which it would compile
    and play the game, and a grammar that it never uses is not read.
    """
    import textworld
    from textworld.challenges.tw_cooking import cooking

    knowledge = _knowledge(carry_limit)
    nothing = {"set_walkthrough": lambda maker, commands: None}
    names = {
        **vars(cooking),
        "KnowledgeBase": SimpleNamespace(load=lambda **_: knowledge),
        "textworld": SimpleNamespace(
            GameMaker=type("GameMaker", (textworld.GameMaker,), nothing),
            generator=SimpleNamespace(make_grammar=lambda *_, **__: None),
        ),
    }
    return FunctionType(cooking.make.__code__, names, argdefs=cooking.make.__defaults__)


def _knowledge(carry_limit: bool) -> Any:
    """The challenge's rules, read in a fixed order, with a BBQ that cannot be opened: no fact
    says whether it is open, so facts could not follow what is done with an open one."""
    from textworld.challenges.tw_cooking.cooking import (
        KB_GRAMMAR_PATH,
        KB_LOGIC_DROP_PATH,
        KB_LOGIC_PATH,
    )
    from textworld.generator.data import KnowledgeBase
    from textworld.logic import GameLogic

    folder = Path(KB_LOGIC_DROP_PATH if carry_limit else KB_LOGIC_PATH)
    files = sorted(str(file) for file in folder.glob("*.twl"))
    knowledge = KnowledgeBase(GameLogic.load(files), KB_GRAMMAR_PATH)
    knowledge.inform7_variables_description["toaster"] += " toaster-like is not openable."
    return knowledge
