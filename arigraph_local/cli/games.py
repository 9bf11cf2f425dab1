"""`arigraph games`: list, describe and make the games an agent can play."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arigraph_local.errors import UsageError

if TYPE_CHECKING:
    from arigraph_local.envs.games import GameFiles, GameName
    from arigraph_local.envs.opening import OpenGame

games_app = typer.Typer(no_args_is_help=True, help="List, describe and make games.")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_SEED_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", re.ASCII)
_MOST_SEEDS = 10_000


@games_app.command("list")
def list_games(as_json: Json = False) -> None:
    """Show the families of generated games and their levels."""
    from arigraph_local.envs.games import all_families

    families = all_families()
    if as_json:
        typer.echo(json.dumps({"families": [_family(name) for name in families]}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("game")
    for heading in ("rooms", "max score", "step limit"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for family_name, family in families.items():
        for level_name, level in family.levels().items():
            figures = (level.rooms, level.max_score, level.step_limit)
            name = f"{family_name}:{level_name}"
            table.add_row(name, *(str(figure or "-") for figure in figures), level.description)
    Console().print(table)
    typer.echo("\nAny seed: hunt:standard@7. The path of a story file is a game as well.")


@games_app.command("describe")
def describe_game(
    name: Annotated[
        str, typer.Argument(help="family, family:level[@seed], or the path of a story file.")
    ],
    walkthrough: Annotated[
        bool, typer.Option("--walkthrough", help="Show the commands that win it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a family, or one game: its goal, size, files and how it begins."""
    from arigraph_local.envs.games import all_families
    from arigraph_local.envs.opening import open_game

    if name in all_families():
        _print_family(name, as_json)
        return
    typer.echo(f"loading game: {name}", err=True)
    game = open_game(name)
    try:
        opening = game.environment.reset()
        goal = game.environment.goal
    finally:
        game.environment.close()
    if as_json:
        record = _record(game, opening.max_score) | {"goal": goal, "opening": opening.text}
        if walkthrough:
            record["walkthrough"] = list(game.walkthrough)
        typer.echo(json.dumps(record))
        return
    typer.echo(_summary(game, opening.max_score))
    typer.echo(f"step limit {game.step_limit}, digest {game.digest[:16]}")
    typer.echo(f"\nGoal: {goal}\n\n{opening.text}")
    if walkthrough:
        typer.echo("\n" + ("\n".join(game.walkthrough) or "No walkthrough is known."))


@games_app.command("make")
def make_games(
    names: Annotated[list[str], typer.Argument(help="family:level or family:level@seed.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the games; else the user's cache.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Make each NAME with these seeds, as 1-20.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make games, each with a walkthrough that was played to full score."""
    from arigraph_local.envs.games import make_game

    wanted = _wanted(names, seeds)
    made: list[GameFiles] = []
    for number, name in enumerate(wanted, start=1):
        made.append(make_game(name, out))
        counter = f"[{number}/{len(wanted)}] " if len(wanted) > 1 else ""
        typer.echo(counter + _summary(made[-1], made[-1].max_score), err=as_json)
    if as_json:
        typer.echo(json.dumps({"games": [_record(files, files.max_score) for files in made]}))


def _wanted(names: list[str], seeds: str | None) -> list[GameName]:
    """Every game asked for, checked before the first is made."""
    from arigraph_local.envs.games import parse_game_name

    if seeds is None:
        return [parse_game_name(name) for name in names]
    with_seed = [name for name in names if "@" in name]
    if with_seed:
        raise UsageError(f"'{with_seed[0]}' has a seed already: leave it out, or leave out --seeds")
    return [parse_game_name(f"{name}@{seed}") for name in names for seed in _seed_range(seeds)]


def _seed_range(text: str) -> range:
    match = _SEED_RANGE.fullmatch(text)
    if match is None:
        raise UsageError(f"--seeds '{text}' must be a number or a range such as 1-20")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"--seeds '{text}' ends before it begins")
    if last - first >= _MOST_SEEDS:
        raise UsageError(f"--seeds '{text}' asks for more than {_MOST_SEEDS} games")
    return range(first, last + 1)


def _family(name: str) -> dict[str, Any]:
    from arigraph_local.envs.games import all_families

    family = all_families()[name]
    levels = [{"level": level} | asdict(summary) for level, summary in family.levels().items()]
    return {"family": name, "description": family.description, "levels": levels}


def _print_family(name: str, as_json: bool) -> None:
    record = _family(name)
    if as_json:
        typer.echo(json.dumps(record))
        return
    typer.echo(f"{name}: {record['description']}")
    for level in record["levels"]:
        typer.echo(
            f"{name}:{level['level']}: {level['rooms']} rooms, {level['description']}, "
            f"max score {level['max_score']}, step limit {level['step_limit']}"
        )


def _record(game: GameFiles | OpenGame, max_score: int) -> dict[str, Any]:
    return {
        "name": game.name,
        "story": str(game.story) if game.story else None,
        "max_score": max_score,
        "walkthrough_steps": len(game.walkthrough),
        "step_limit": game.step_limit,
        "digest": game.digest,
    }


def _summary(game: GameFiles | OpenGame, max_score: int) -> str:
    steps = f"walkthrough {len(game.walkthrough)} steps, " if game.walkthrough else ""
    return f"{game.name}: max score {max_score}, {steps}{game.story or 'made as it is played'}"
