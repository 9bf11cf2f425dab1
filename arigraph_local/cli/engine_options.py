"""The options of `play` that say how and where the model runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from arigraph_local.errors import UsageError

_MODES = ("reproducible", "throughput")

Context = Annotated[int | None, typer.Option(help="Context size in tokens.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads. Default: the physical cores.")]
GpuLayers = Annotated[int | None, typer.Option(help="Layers put on the GPU; -1 for all.")]
ChatFormat = Annotated[
    str | None, typer.Option(help="chatml, llama-3 or plain, instead of the model's own.")
]
KvType = Annotated[
    str | None,
    typer.Option(help="Precision of cached keys and values: f16, q8_0, q4_0 and the like."),
]
FlashAttention = Annotated[str | None, typer.Option(help="auto, on or off.")]
Lora = Annotated[
    list[str] | None,
    typer.Option(help="A LoRA adapter in GGUF, PATH or PATH:SCALE; may be given again."),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="reproducible, throughput, or the address of an OpenAI-compatible server "
        "(http://HOST:PORT; a key is read from ARIGRAPH_API_KEY)."
    ),
]
ResponseCache = Annotated[
    Path | None, typer.Option(help="A folder of replies, given again to equal requests.")
]


def engine_values(
    *,
    engine: str | None = None,
    lora: list[str] | None = None,
    response_cache: Path | None = None,
    **others: Any,
) -> dict[str, Any]:
    """The settings, by dotted key, that the options given ask for; paths are made absolute.

    `others` are settings that have the option's own name. Raises `UsageError` for an engine that
    is neither a mode nor an address.
    """
    values: dict[str, Any] = {f"engine.{name}": value for name, value in others.items()}
    if engine in _MODES:
        values["engine.mode"] = engine
    elif engine is not None and "://" not in engine:
        raise UsageError(
            f"--engine {engine}: neither {' nor '.join(_MODES)} nor an address http://HOST:PORT"
        )
    else:
        values["engine.server"] = engine
    if lora:
        values["engine.lora"] = [str(Path(path).expanduser().absolute()) for path in lora]
    if response_cache is not None:
        values["engine.response_cache"] = str(response_cache.expanduser().absolute())
    return {key: value for key, value in values.items() if value is not None}
