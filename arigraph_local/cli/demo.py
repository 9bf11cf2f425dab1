"""`arigraph demo`: the smallest real run, from nothing to a result."""

from __future__ import annotations

from typing import Annotated

import typer

from arigraph_local.cli import engine_options as options
from arigraph_local.cli.engine_options import engine_values
from arigraph_local.cli.play import Json, ModelsDir, Out, Quiet, begin

GAME = "hunt:standard@1"


def demo(
    model: Annotated[
        str | None, typer.Option(help="A catalogue name or a path to a GGUF file.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Agent steps at most.")] = 15,
    threads: options.Threads = None,
    gpu_layers: options.GpuLayers = None,
    models_dir: ModelsDir = None,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fetch the small default model if it is missing, and play 15 steps of a Treasure Hunt."""
    from arigraph_local.cli.models import fetch_missing
    from arigraph_local.config import DEFAULT_EMBEDDER, DEFAULT_MODEL, make_config
    from arigraph_local.llm.files.catalogue import models_folder

    values = {"game": GAME, "model": model or DEFAULT_MODEL, "agent.steps": steps}
    config = make_config(values | engine_values(threads=threads, gpu_layers=gpu_layers))
    fetch_missing([config.model, DEFAULT_EMBEDDER], models_folder(models_dir))
    begin(config, out, models_dir, as_json=as_json, quiet=quiet)
