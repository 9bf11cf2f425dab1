"""The `arigraph` command: its groups of commands, and how its errors are shown."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from arigraph_local.cli.bench import bench_app
from arigraph_local.cli.demo import demo
from arigraph_local.cli.games import games_app
from arigraph_local.cli.models import models_app
from arigraph_local.cli.play import play
from arigraph_local.cli.score import score
from arigraph_local.errors import ArigraphError

app = typer.Typer(
    name="arigraph",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="AriGraph memory and the Ariadne agent on local models, without a network.",
)
app.command()(demo)
app.command()(play)
app.command()(score)
app.add_typer(models_app, name="models", help="GGUF and embedding models on this machine.")
app.add_typer(games_app, name="games", help="Game families, levels and seeds.")
app.add_typer(bench_app, name="bench", help="How fast this machine is, as ratios.")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"arigraph-local {version('arigraph-local')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Both are taken before a command runs: see `run` and `_version`."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line on these arguments and return its exit code."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        outcome = app(arguments or ["--help"], standalone_mode=False)
    except ArigraphError as error:
        if debug:
            raise
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_message(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        if debug:
            raise
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}", 1)
    except Exception as error:
        if debug:
            raise
        return _fail(f"internal: {type(error).__name__}: {error} (--debug shows where)", 1)
    return outcome if isinstance(outcome, int) else 0


def _message(error: typer.TyperException) -> str:
    """Typer names the option or argument in `format_message`, where it has one."""
    named = getattr(error, "format_message", None)
    return str(named()) if callable(named) else str(error)


def _fail(message: str, code: int) -> int:
    if message:
        print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code
