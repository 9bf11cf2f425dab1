"""`arigraph score`: finished runs side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arigraph_local.errors import RunError

if TYPE_CHECKING:
    from arigraph_local.runs.run_folder import RunResult
    from arigraph_local.runs.scoring import Score


def score(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, or folders of attempts.", show_default=False),
    ],
    by_level: Annotated[
        bool, typer.Option("--by-level", help="Take the seeds of a level together.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the scores of finished runs, by game and player.

    The best 3 of 5 are the paper's protocol: of more than five runs, the mean over every choice
    of five; of fewer, none.
    """
    from arigraph_local.runs.scoring import score_table

    scores = score_table(_finished(runs), by_level=by_level)
    if as_json:
        typer.echo(json.dumps({"scores": [asdict(one) for one in scores]}))
    else:
        _print_table(scores)


def _finished(runs: list[Path]) -> list[RunResult]:
    """The results there are; a warning for each run without one. Raises `RunError` for none."""
    from arigraph_local.runs.attempts import Attempts, is_attempts
    from arigraph_local.runs.run_folder import RunFolder

    folders = []
    for path in runs:
        folders += Attempts.existing(path).begun_folders() if is_attempts(path) else [path]
    results = []
    for path in folders:
        result = RunFolder.existing(path).result()
        if result is None:
            typer.echo(f"warning: {path}: not finished, left out", err=True)
        else:
            results.append(result)
    if not results:
        raise RunError("none of these runs is finished")
    return results


def _print_table(scores: list[Score]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # A file or a pipe has no width at which to cut the columns.
    console = Console()
    console = console if console.is_terminal else Console(width=200)
    table = Table(box=None, pad_edge=False)
    for heading in ("game", "player", "memory", "model"):
        table.add_column(heading)
    for heading in ("runs", "won", "score", "of", "normalised", "best 3 of 5", "steps to win"):
        table.add_column(heading, justify="right")
    for one in scores:
        cells = (
            *(one.game, one.player, one.memory, one.model.split(" ")[0]),
            *(str(one.n), str(one.won)),
            *(_number(one.raw, 2), _number(one.max_score or None, 0)),
            *(_number(one.normalised, 3), _number(one.best_normalised, 3)),
            _number(one.steps_to_finish, 1),
        )
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
