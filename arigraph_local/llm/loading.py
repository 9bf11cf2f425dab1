"""From a model's name to an engine."""

from __future__ import annotations

import json
from pathlib import Path

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.files.catalogue import LocatedModel, load_catalogue, locate, models_folder
from arigraph_local.llm.files.gguf import read_header
from arigraph_local.llm.files.model_file import checked_sha256, measured_sha256
from arigraph_local.llm.files.registry import ModelKind
from arigraph_local.llm.llama.memory_need import MemoryNeed, cache_bytes, check_memory, memory_here
from arigraph_local.llm.settings import EngineSettings

CONVERSATIONS = 2
"""The memory's and the agent's, of each episode."""

_DECIDING = {
    "mode",
    "n_batch",
    "n_ubatch",
    "gpu_layers",
    "flash_attention",
    "kv_type",
    "chat_format",
}
"""Settings that replies depend on, if only in the last bits of logits."""


def load_engine(
    name: str, settings: EngineSettings | None = None, models: Path | None = None
) -> Engine:
    """An engine on the model given by catalogue name or by path to a GGUF file, or, with
    `settings.server`, by the name that the server has for it.

    `models` is the folder to look in (default: `ARIGRAPH_MODELS`, else a per-user folder). The
    engine is identified by the model's name and checksum, those of adapters included. Raises
    `UsageError`, `ModelFileError` or `ArigraphError` in one line for a model that is unknown,
    missing, damaged or too large for this machine, or a server that fails.
    """
    settings = settings or EngineSettings()
    engine = _served(name, settings) if settings.server else _local(name, settings, models)
    if settings.response_cache is None:
        return engine
    from arigraph_local.llm.cached.response_cache import CachedEngine

    try:
        folder = settings.response_cache.expanduser()
        return CachedEngine(engine, folder, variant=cache_variant(settings))
    except ArigraphError:
        engine.close()
        raise


def cache_variant(settings: EngineSettings) -> str:
    """What a cached reply depends on beside model and request."""
    return json.dumps(settings.model_dump(mode="json", include=_DECIDING), sort_keys=True)


def _served(name: str, settings: EngineSettings) -> Engine:
    from arigraph_local.llm.served.server_engine import ServerEngine

    assert settings.server is not None
    return ServerEngine(
        settings.server,
        name,
        context_tokens=settings.context,
        parallel=max(CONVERSATIONS, settings.episodes),
    )


def _local(name: str, settings: EngineSettings, models: Path | None) -> Engine:
    model = locate(name, models_folder(models), ModelKind.GGUF)
    identity = _identity(model, settings)
    _check_memory(model, settings)
    chat_format = settings.chat_format or (model.entry.chat_format if model.entry else None)
    if settings.mode == "throughput":
        from arigraph_local.llm.batched.batched_engine import BatchedEngine

        return BatchedEngine.load(
            model.path,
            model_id=identity,
            context_tokens=settings.context,
            sequences=max(CONVERSATIONS, settings.episodes),
            threads=settings.threads,
            chat_format=chat_format,
            options=settings.context_options,
            model_options=settings.model_options,
            kept_bytes=settings.kept_bytes,
        )
    from arigraph_local.llm.llama.llama_engine import LlamaEngine

    return LlamaEngine.load(
        model.path,
        model_id=identity,
        context_tokens=settings.context,
        conversations=CONVERSATIONS * settings.episodes,
        threads=settings.threads,
        chat_format=chat_format,
        options=settings.context_options,
        model_options=settings.model_options,
    )


def _identity(model: LocatedModel, settings: EngineSettings) -> str:
    parts = [f"{model.name} sha256:{checked_sha256(model)}"]
    for adapter in settings.model_options.adapters:
        checksum = measured_sha256(adapter.path)
        parts.append(f"{adapter.path.stem} x{adapter.scale:g} sha256:{checksum}")
    return " + ".join(parts)


def _check_memory(model: LocatedModel, settings: EngineSettings) -> None:
    """Refuse what cannot fit; what goes to a GPU is not counted, so nothing is refused there."""
    if settings.gpu_layers != 0:
        return
    sequences = CONVERSATIONS * settings.episodes
    if settings.mode == "throughput":
        sequences = max(CONVERSATIONS, settings.episodes)
    cache = cache_bytes(
        read_header(model.path), settings.context * sequences, settings.context_options
    )
    check_memory(
        model.name,
        MemoryNeed(model.path.stat().st_size, cache),
        memory_here(),
        load_catalogue().values(),
        mapped=settings.mmap and not settings.mlock,
        family=model.entry.family if model.entry else None,
    )
