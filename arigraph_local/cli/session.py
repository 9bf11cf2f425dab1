"""One run at the terminal: loading, the live view, the result, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from arigraph_local.cli.dialogue import Dialogue, LineTerminal
from arigraph_local.cli.live import LivePanel, PlainLines, View
from arigraph_local.config import NO_MODEL, RunConfig
from arigraph_local.runs.equipment import Say, equipment
from arigraph_local.runs.run_folder import RunFolder, RunResult
from arigraph_local.runs.runner import Equipment, run_episode

INTERRUPTED = 130


def play_session(
    folder: RunFolder,
    config: RunConfig,
    models: Path | None,
    *,
    new: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Play the run of a folder and print how it went.

    A new folder is written once everything is loaded, so that a run that cannot begin leaves
    nothing behind.
    """
    console = Console(stderr=as_json, highlight=False)
    result = None if new else folder.result()
    if result is None:
        person = config.player == "human"
        terminal = LineTerminal(console, prompt_here=not as_json) if person else None
        with equipment(config, models, _say(console, quiet), terminal) as gear:
            if new:
                folder = RunFolder.create(folder.path, config)
            view = _view(console, gear.steps, quiet)
            if terminal is not None:
                view = Dialogue(console, gear.steps, terminal, with_graph=config.show_graph)
            result = _run(folder, gear, view)
    _print(console, folder, result, as_json)


def _run(folder: RunFolder, gear: Equipment, view: View) -> RunResult:
    try:
        with view:
            return run_episode(folder, gear, [view.show], _warn)
    except KeyboardInterrupt:
        message = f"interrupted; go on with: arigraph play --resume {folder.path}"
        print(message, file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def _say(console: Console, quiet: bool) -> Say:
    def say(text: str) -> None:
        if not quiet:
            console.print(Text(f"loading {text}"), soft_wrap=True)

    return say


def _view(console: Console, steps: int, quiet: bool) -> View:
    if quiet:
        return View()
    return LivePanel(console, steps) if console.is_terminal else PlainLines(console, steps)


def _print(console: Console, folder: RunFolder, result: RunResult, as_json: bool) -> None:
    if as_json:
        record = result.model_dump() | {"run": str(folder.path)}
        print(json.dumps(record))
        return
    part = result.normalised_score
    of_all = f"/{result.max_score} (normalised {part:.2f})" if part is not None else ""
    console.print(f"score {result.score}{of_all}, {result.steps} steps, {result.reason}")
    if result.model != NO_MODEL:
        tokens = result.tokens
        console.print(
            f"tokens {tokens.computed} prompt computed, {tokens.reused} reused, "
            f"{tokens.generated} generated, in {result.seconds:.0f} s"
        )
        if result.facts or result.memory == "arigraph":
            console.print(f"graph {result.facts} facts, {result.retired} retired")
        if result.memory != "arigraph" or result.ablations:
            console.print(f"memory {' without '.join((result.memory, *result.ablations))}")
    console.print(f"run {folder.path}", soft_wrap=True)
