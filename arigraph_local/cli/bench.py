"""`arigraph bench`: how fast this machine is, against what is set when nothing is."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arigraph_local.cli.models import ModelsDir

if TYPE_CHECKING:
    from arigraph_local.llm.llama.speed import Compared

bench_app = typer.Typer(help="Speed on this machine, as ratios.", no_args_is_help=True)


@bench_app.callback()
def _group() -> None:
    """Keep `engine` a command of its own while it is the only one."""


@bench_app.command("engine")
def bench_engine(
    model: Annotated[
        str | None, typer.Option(help="A catalogue name or a path to a GGUF file.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Times each setting is compared.")] = 5,
    save: Annotated[
        bool, typer.Option("--save", help="Take the fastest for this model here from now on.")
    ] = False,
    models_dir: ModelsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the fastest threads, attention kernel and batch size for a model on this machine.

    A ratio above 1 means that an agent's step takes less time than with the setting that was
    best until then; the last line compares the fastest with what is set by default.
    """
    from arigraph_local.config import DEFAULT_MODEL
    from arigraph_local.llm.files.catalogue import locate, models_folder
    from arigraph_local.llm.files.registry import ModelKind
    from arigraph_local.llm.llama.loaded_model import LoadedModel
    from arigraph_local.llm.llama.speed import (
        CONTEXT,
        confirm_fastest,
        default_choice,
        search_fastest,
        speed_of,
    )
    from arigraph_local.llm.tuned import Tuned, save_tuned, this_machine

    folder = models_folder(models_dir)
    located = locate(model or DEFAULT_MODEL, folder, ModelKind.GGUF)
    loaded = LoadedModel.load(
        located.path,
        model_id=located.name,
        context_tokens=CONTEXT,
        chat_format="plain",
        chunk_tokens=CONTEXT,
    )
    rows: list[dict[str, Any]] = []

    def report(compared: Compared) -> None:
        rows.append(_row(compared))
        typer.echo(_line(rows[-1]), err=as_json)

    typer.echo(f"{located.name} on {this_machine()}", err=as_json)
    if (load := os.getloadavg()[0]) >= 1:
        typer.echo(f"warning: the load is {load:.1f} already: other work disturbs this", err=True)
    start = default_choice()
    try:
        fastest = search_fastest(lambda choice: speed_of(loaded, choice), start, pairs, report)
        final = confirm_fastest(lambda choice: speed_of(loaded, choice), fastest, start, pairs)
    finally:
        loaded.free()
    typer.echo(f"fastest against default: {_line(_row(final)).lstrip()}", err=as_json)
    if save:
        settings = {key: _row(final)[key] for key in ("threads", "flash_attention", "n_ubatch")}
        tuned = Tuned(machine=this_machine(), model=located.name, **settings)
        typer.echo(f"kept in {save_tuned(folder, tuned)}", err=as_json)
    if as_json:
        found = {"model": located.name, "machine": this_machine(), "fastest": _row(final)}
        typer.echo(json.dumps({**found, "compared": rows}))


def _row(compared: Compared) -> dict[str, Any]:
    choice, speed = compared.choice, compared.speed
    return {
        "threads": choice.threads,
        "flash_attention": choice.flash_attention,
        "n_ubatch": choice.n_ubatch,
        "prompt_tokens_per_second": round(speed.prompt, 1),
        "reply_tokens_per_second": round(speed.reply, 1),
        "reply_tokens_per_second_16": round(speed.together, 1),
        "ratio": round(compared.ratio, 3),
    }


def _line(row: dict[str, Any]) -> str:
    return (
        f"  threads {row['threads']:>3}  flash attention {row['flash_attention']:<4}  "
        f"n_ubatch {row['n_ubatch']:>3}  tokens/s: prompt {row['prompt_tokens_per_second']:>7}, "
        f"reply {row['reply_tokens_per_second']:>6}, "
        f"16 replies {row['reply_tokens_per_second_16']:>6}  ratio {row['ratio']:.2f}"
    )
