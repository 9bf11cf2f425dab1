"""`arigraph models`: list, fetch, verify and add the models of a models folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arigraph_local.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from arigraph_local.llm.files.catalogue import CatalogueEntry
    from arigraph_local.llm.files.fetch import Fetched
    from arigraph_local.llm.files.registry import Registered
    from arigraph_local.llm.files.transfer import Progress, Report

models_app = typer.Typer(
    help="Language and embedding models: list, fetch, verify, add.", no_args_is_help=True
)

ModelsDir = Annotated[
    Path | None,
    typer.Option(
        "--models-dir",
        help="Folder of the models (default: ARIGRAPH_MODELS, else your data folder).",
        show_default=False,
    ),
]


@models_app.command("list")
def list_models(
    models_dir: ModelsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the models of the catalogue and those added, and which are on this disk."""
    from arigraph_local.llm.files.catalogue import load_catalogue, models_folder
    from arigraph_local.llm.files.registry import load_registry

    folder = models_folder(models_dir)
    catalogue = load_catalogue()
    rows = [_catalogue_row(entry, folder) for entry in catalogue.values()]
    rows += [
        _added_row(name, known, folder)
        for name, known in load_registry(folder).items()
        if name not in catalogue
    ]
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "models": rows}, indent=2))
    else:
        _print_table(rows)
        typer.echo(f"folder: {folder}")


@models_app.command("fetch")
def fetch_models(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)],
    models_dir: ModelsDir = None,
) -> None:
    """Download models by name, check them, and put them into the models folder."""
    from arigraph_local.llm.files.catalogue import load_catalogue, models_folder
    from arigraph_local.llm.files.fetch import fetch
    from arigraph_local.llm.files.registry import load_registry

    folder = models_folder(models_dir)
    catalogue, registry = load_catalogue(), load_registry(folder)
    for name in names:
        if name not in catalogue and name in registry:
            raise UsageError(f"'{name}' was added from {registry[name].path}: nothing to fetch")
        if name not in catalogue:
            raise unknown_name("model", name, catalogue)
    typer.echo(f"models folder: {folder}", err=True)
    for name in dict.fromkeys(names):
        with _progress(name) as report:
            fetched = fetch(catalogue[name], folder, report)
        typer.echo(_fetched_line(name, fetched))


def fetch_missing(names: list[str], folder: Path) -> None:
    """Download those of the named catalogue models that are not there; all output on stderr."""
    from arigraph_local.llm.files.catalogue import load_catalogue
    from arigraph_local.llm.files.fetch import fetch
    from arigraph_local.llm.files.integrity import is_fetched

    catalogue = load_catalogue()
    for name in names:
        if name in catalogue and not is_fetched(catalogue[name], folder):
            with _progress(name) as report:
                fetched = fetch(catalogue[name], folder, report)
            typer.echo(_fetched_line(name, fetched), err=True)


@models_app.command("verify")
def verify_models(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", show_default=False)
    ] = None,
    models_dir: ModelsDir = None,
) -> None:
    """Measure size and SHA-256 of models; without names, of every model that is there."""
    from arigraph_local.llm.files.catalogue import load_catalogue, models_folder
    from arigraph_local.llm.files.integrity import State, verify
    from arigraph_local.llm.files.registry import load_registry

    folder = models_folder(models_dir)
    catalogue, registry = load_catalogue(), load_registry(folder)
    for name in names or []:
        if name not in catalogue and name not in registry:
            raise unknown_name("model", name, [*catalogue, *registry])
    present = [n for n, entry in catalogue.items() if (folder / entry.file).exists()]
    wanted = names or [*present, *(n for n in registry if n not in present)]
    if not wanted:
        typer.echo(f"no models in {folder}")
    failed = False
    for name in dict.fromkeys(wanted):
        with _progress(name) as report:
            verdict = verify(name, folder, report)
        detail = f": {verdict.detail}" if verdict.detail else ""
        typer.echo(f"{name}: {verdict.state}: {verdict.path}{detail}")
        failed = failed or verdict.state in (State.WRONG, State.ABSENT)
    if failed:
        raise typer.Exit(1)


@models_app.command("add")
def add_model(
    name: Annotated[str, typer.Argument(help="Name to use it by.", show_default=False)],
    path: Annotated[
        Path, typer.Argument(help="A GGUF file or an embedder's folder.", show_default=False)
    ],
    models_dir: ModelsDir = None,
) -> None:
    """Register a model that is already on this disk; nothing is copied."""
    from arigraph_local.llm.files.catalogue import check_new_name, load_catalogue, models_folder
    from arigraph_local.llm.files.registry import add, load_registry

    folder = models_folder(models_dir)
    check_new_name(name, load_catalogue(), folder)
    before = load_registry(folder).get(name)
    with _progress(name) as report:
        added = add(name, path, folder, report)
    typer.echo(f"{name}: {added.path} ({_megabytes(added.bytes)}, SHA-256 {added.sha256})")
    if before is not None and before != added:
        typer.echo(f"{name} was {before.path} before (SHA-256 {before.sha256})")


def _catalogue_row(entry: CatalogueEntry, folder: Path) -> dict[str, Any]:
    from arigraph_local.llm.files.integrity import is_fetched

    keep = {"name", "kind", "family", "parameters", "quantisation", "bytes", "context", "licence"}
    row = entry.model_dump(mode="json", include=keep)
    path = folder / entry.file
    return {**row, "sha256": entry.sha256, "fetched": is_fetched(entry, folder), "path": str(path)}


def _added_row(name: str, known: Registered, folder: Path) -> dict[str, Any]:
    path = folder / known.path
    row = {"name": name, **known.model_dump(mode="json"), "path": str(path)}
    return {**row, "fetched": path.exists()}


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    # A file or a pipe has no width at which to cut the columns.
    console = Console()
    console = console if console.is_terminal else Console(width=200)
    table = Table(box=None, pad_edge=False)
    for title in ("name", "kind", "parameters", "quantisation", "size", "context", "fetched"):
        justify_right = title in ("parameters", "size", "context")
        table.add_column(title, justify="right" if justify_right else "left", no_wrap=True)
    table.add_column("licence")
    for row in rows:
        table.add_row(
            row["name"],
            row["kind"],
            _count(row.get("parameters")),
            row.get("quantisation", ""),
            _megabytes(row["bytes"]),
            str(row.get("context", "")),
            "yes" if row["fetched"] else "no",
            row.get("licence", "added by you"),
        )
    console.print(table)


def _count(parameters: int | None) -> str:
    if parameters is None:
        return ""
    billions = parameters / 1e9
    return f"{billions:.1f}B" if billions >= 1 else f"{parameters / 1e6:.0f}M"


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.0f} MB"


def _fetched_line(name: str, fetched: Fetched) -> str:
    if fetched.already_there:
        return f"{name}: already there and intact: {fetched.path}"
    return f"{name}: fetched to {fetched.path} ({_megabytes(fetched.bytes)}, checked)"


@contextmanager
def _progress(name: str) -> Iterator[Report]:
    """A bar on a terminal, else a line now and then; both on stderr."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain_report(name)
        return
    from rich import progress as bar

    columns = (
        bar.TextColumn("{task.description}"),
        bar.BarColumn(),
        bar.DownloadColumn(),
        bar.TimeRemainingColumn(),
    )
    with bar.Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(name, total=None)

        def report(progress: Progress) -> None:
            bars.update(
                task,
                description=f"{name}: {progress.what}",
                completed=progress.done_bytes,
                total=progress.total_bytes,
            )

        yield report


def _plain_report(name: str) -> Report:
    said: tuple[str, int] | None = None

    def report(progress: Progress) -> None:
        nonlocal said
        total = progress.total_bytes if progress.what == "downloading" else None
        quarter = 4 * progress.done_bytes // total if total else 0
        if said == (progress.what, quarter):
            return
        said = (progress.what, quarter)
        of_all = f" {progress.done_bytes / 1e6:.0f} of {total / 1e6:.0f} MB" if total else ""
        typer.echo(f"{name}: {progress.what}{of_all}", err=True)

    return report
