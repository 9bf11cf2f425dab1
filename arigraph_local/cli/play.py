"""`arigraph play`: one episode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arigraph_local.cli import engine_options as options
from arigraph_local.cli.engine_options import engine_values

if TYPE_CHECKING:
    from arigraph_local.config import RunConfig

ModelsDir = Annotated[
    Path | None,
    typer.Option(help="Where models are kept. Default: ARIGRAPH_MODELS, else a per-user folder."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")]
Out = Annotated[
    Path | None, typer.Option(help="The run folder. Default: a dated one under ./runs.")
]


def play(
    game: Annotated[
        str | None,
        typer.Argument(help="family:level, family:level@seed, or the path of a story file."),
    ] = None,
    player: Annotated[
        str | None,
        typer.Option(help="ariadne (default), human, random, walkthrough or oracle."),
    ] = None,
    show_graph: Annotated[
        bool, typer.Option("--show-graph", help="Show a human player the memory's graph.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            help="arigraph (default), full-history, summary, rag, reflexion, simulacra, memgpt, "
            "temporal-kg, hipporag, none or oracle-graph."
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave a part out: episodic, semantic, outdated, exploration or plan; may be "
            "given again."
        ),
    ] = None,
    graph_noise: Annotated[
        float | None,
        typer.Option(help="The share of facts, 0 to 1, that oracle-graph learns wrongly or not."),
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(help="Play the game so many times, each with the next seed.", min=1),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A catalogue name or a path to a GGUF file.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="A catalogue name or a sentence-transformers folder.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Agent steps at most.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the player's choices.")] = None,
    prompts: Annotated[str | None, typer.Option(help="A prompt set by name or folder.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with any setting; options override it.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the run, or the attempts, in this folder.")
    ] = None,
    engine: options.Engine = None,
    context: options.Context = None,
    threads: options.Threads = None,
    gpu_layers: options.GpuLayers = None,
    kv_type: options.KvType = None,
    flash_attention: options.FlashAttention = None,
    lora: options.Lora = None,
    chat_format: options.ChatFormat = None,
    response_cache: options.ResponseCache = None,
    models_dir: ModelsDir = None,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Play one episode, with Ariadne or another player, or go on with one that was interrupted."""
    from arigraph_local.ablations import ablation_values
    from arigraph_local.config import make_config, read_config
    from arigraph_local.errors import UsageError

    given: dict[str, Any] = {
        "game": _absolute(game),
        "player": player,
        "show_graph": show_graph or None,
        "memory.name": memory,
        "memory.graph_noise": graph_noise,
        "model": _absolute(model),
        "embedder": _absolute(embedder),
        "prompts": _absolute(prompts),
        "seed": seed,
        "agent.steps": steps,
    }
    values = {key: value for key, value in given.items() if value is not None}
    values |= ablation_values(without or ())
    values |= engine_values(
        engine=engine,
        context=context,
        threads=threads,
        gpu_layers=gpu_layers,
        kv_type=kv_type,
        flash_attention=flash_attention,
        lora=lora,
        chat_format=chat_format,
        response_cache=response_cache,
    )
    if resume is not None:
        if values or config or out or attempts:
            raise UsageError("--resume takes the run's own config: give no other setting with it")
        _go_on(resume, models_dir, as_json=as_json, quiet=quiet)
        return
    if game is None and config is None:
        raise UsageError("name a game, such as hunt:standard@1, or give --config or --resume")
    settings = read_config(config, values) if config else make_config(values)
    for name in without or ():
        if name not in settings.ablations:
            whose = settings.memory.name if settings.player == "ariadne" else settings.player
            raise UsageError(f"--without {name}: {whose} has no such part")
    begin(settings, out, models_dir, attempts=attempts, as_json=as_json, quiet=quiet)


def begin(
    config: RunConfig,
    out: Path | None,
    models_dir: Path | None,
    *,
    attempts: int | None = None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Play a new run, or several attempts, in `out` or in a dated folder.

    Engine settings left open are those found fastest here, if any were; the run writes them down.
    """
    from arigraph_local.cli.session import play_attempts, play_session
    from arigraph_local.llm.files.catalogue import models_folder
    from arigraph_local.llm.tuned import with_tuned
    from arigraph_local.runs.attempts import Attempts
    from arigraph_local.runs.run_folder import RunFolder, check_new, dated_folder

    if config.needs_model:
        engine = with_tuned(config.engine, config.model, models_folder(models_dir))
        config = config.model_copy(update={"engine": engine})
    path = out or dated_folder(config)
    if attempts is not None:
        several = Attempts.new(path, config, attempts)
        play_attempts(several, models_dir, as_json=as_json, quiet=quiet)
        return
    check_new(path)
    play_session(RunFolder(path), config, models_dir, new=True, as_json=as_json, quiet=quiet)


def _go_on(path: Path, models_dir: Path | None, *, as_json: bool, quiet: bool) -> None:
    from arigraph_local.cli.session import play_attempts, play_session
    from arigraph_local.runs.attempts import Attempts, is_attempts
    from arigraph_local.runs.run_folder import RunFolder

    if is_attempts(path):
        play_attempts(Attempts.existing(path), models_dir, as_json=as_json, quiet=quiet)
        return
    folder = RunFolder.existing(path)
    play_session(folder, folder.config(), models_dir, new=False, as_json=as_json, quiet=quiet)


def _absolute(name: str | None) -> str | None:
    """Paths are stored absolute, so that a run can be resumed from any folder."""
    from arigraph_local.envs.games import is_game_file

    if name is None or not ("/" in name or name.endswith(".gguf") or is_game_file(name)):
        return name
    return str(Path(name).expanduser().absolute())
