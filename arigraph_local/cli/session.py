"""One run at the terminal: loading, the live view, the result, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from arigraph_local.cli.dialogue import Dialogue, LineTerminal
from arigraph_local.cli.live import LivePanel, PlainLines, View
from arigraph_local.config import NO_MODEL, RunConfig
from arigraph_local.runs.attempts import FILE, Attempts
from arigraph_local.runs.equipment import Say, equipment
from arigraph_local.runs.run_folder import CONFIG, RunFolder, RunResult
from arigraph_local.runs.runner import run_episode
from arigraph_local.runs.scoring import BEST, paper_score

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
    session = _Session(models, as_json, quiet)
    with _resumed_at(folder.path):
        result = session.play(folder, config if new else None)
    if as_json:
        print(json.dumps(_record(folder, result)))
    else:
        _print(session.console, folder, result)


def play_attempts(attempts: Attempts, models: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Play the attempts that are not finished, and print how each went and what they come to."""
    session = _Session(models, as_json, quiet)
    results = []
    for number in range(1, attempts.count + 1):
        folder = attempts.folder(number)
        config = None if attempts.begun(number) else attempts.config(number)
        if not as_json:
            session.console.print(f"attempt {number} of {attempts.count}")
        with _resumed_at(attempts.path):
            result = session.play(folder, config, attempts.write)
        if not as_json:
            _print(session.console, folder, result)
        results.append(result)
    best = paper_score(results)
    if as_json:
        records = [
            _record(attempts.folder(number), result) for number, result in enumerate(results, 1)
        ]
        print(json.dumps({"attempts": records, "best_normalised": best, "run": str(attempts.path)}))
    elif best is not None:
        session.console.print(f"best {BEST} of {len(results)} attempts: normalised {best:.2f}")


class _Session:
    """How runs are played at this terminal."""

    def __init__(self, models: Path | None, as_json: bool, quiet: bool) -> None:
        self.console = Console(stderr=as_json, highlight=False)
        self._models = models
        self._as_json = as_json
        self._quiet = quiet

    def play(
        self, folder: RunFolder, new: RunConfig | None, begin: Callable[[], None] = lambda: None
    ) -> RunResult:
        """The result of a run, played now unless it is finished. `new` is the config of one that
        has no folder yet; `begin` is called once it is loaded, before its folder is written."""
        result = None if new else folder.result()
        if result is not None:
            return result
        config, console = new or folder.config(), self.console
        person = config.player == "human"
        terminal = LineTerminal(console, prompt_here=not self._as_json) if person else None
        with equipment(config, self._models, _say(console, self._quiet), terminal) as gear:
            if new:
                begin()
                folder = RunFolder.create(folder.path, config)
            view = _view(console, gear.steps, self._quiet)
            if terminal is not None:
                view = Dialogue(console, gear.steps, terminal, with_graph=config.show_graph)
            with view:
                return run_episode(folder, gear, [view.show], _warn)


@contextmanager
def _resumed_at(path: Path) -> Iterator[None]:
    """Tell, when the run is interrupted, where to go on; not before it has begun."""
    try:
        yield
    except KeyboardInterrupt:
        if not any((path / name).exists() for name in (CONFIG, FILE)):
            raise
        print(f"interrupted; go on with: arigraph play --resume {path}", file=sys.stderr)
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


def _record(folder: RunFolder, result: RunResult) -> dict[str, Any]:
    return result.model_dump() | {"run": str(folder.path)}


def _print(console: Console, folder: RunFolder, result: RunResult) -> None:
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
