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

games_app = typer.Typer(no_args_is_help=True, help="List, describe and make games.")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_SEED_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", re.ASCII)
_MOST_SEEDS = 10_000


@games_app.command("list")
def list_games(as_json: Json = False) -> None:
    """Show the families of generated games and their levels."""
    from arigraph_local.envs.games import FAMILIES

    if as_json:
        typer.echo(json.dumps({"families": [_family(name) for name in FAMILIES]}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("game")
    for heading in ("rooms", "max score", "step limit"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for family_name, family in FAMILIES.items():
        for level_name, level in family.levels().items():
            figures = (level.rooms, level.max_score, level.step_limit)
            name = f"{family_name}:{level_name}"
            table.add_row(name, *(str(figure) for figure in figures), level.description)
    Console().print(table)
    typer.echo("\nAny seed: hunt:standard@7. A path to a TextWorld .z8 is a game as well.")


@games_app.command("describe")
def describe_game(
    name: Annotated[str, typer.Argument(help="family, family:level[@seed], or a path to a .z8.")],
    walkthrough: Annotated[
        bool, typer.Option("--walkthrough", help="Show the commands that win it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a family, or one game: its goal, size, files and how it begins."""
    from arigraph_local.envs.games import FAMILIES, open_game

    if name in FAMILIES:
        _print_family(name, as_json)
        return
    environment, files = open_game(name)
    try:
        opening = environment.reset()
    finally:
        environment.close()
    if as_json:
        record = _record(files) | {"goal": files.goal, "opening": opening.text}
        if walkthrough:
            record["walkthrough"] = list(files.walkthrough)
        typer.echo(json.dumps(record))
        return
    typer.echo(_summary(files))
    typer.echo(f"step limit {files.step_limit}, digest {files.digest[:16]}")
    typer.echo(f"\nGoal: {files.goal}\n\n{opening.text}")
    if walkthrough:
        typer.echo("\n" + ("\n".join(files.walkthrough) or "No walkthrough is known."))


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
        if not as_json:
            counter = f"[{number}/{len(wanted)}] " if len(wanted) > 1 else ""
            typer.echo(counter + _summary(made[-1]))
    if as_json:
        typer.echo(json.dumps({"games": [_record(files) for files in made]}))


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
    from arigraph_local.envs.games import FAMILIES

    family = FAMILIES[name]
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


def _record(files: GameFiles) -> dict[str, Any]:
    return {
        "name": files.name,
        "story": str(files.story),
        "max_score": files.max_score,
        "walkthrough_steps": len(files.walkthrough),
        "step_limit": files.step_limit,
        "digest": files.digest,
    }


def _summary(files: GameFiles) -> str:
    steps = f"walkthrough {len(files.walkthrough)} steps, " if files.walkthrough else ""
    return f"{files.name}: max score {files.max_score}, {steps}{files.story}"
