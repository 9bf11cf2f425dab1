"""From a model's name to an engine."""

from __future__ import annotations

from pathlib import Path

from arigraph_local.llm.catalogue import locate, models_folder
from arigraph_local.llm.llama import LlamaEngine
from arigraph_local.llm.registry import ModelKind
from arigraph_local.llm.settings import EngineSettings
from arigraph_local.llm.transfer import file_sha256

_CONVERSATIONS = 2
"""The memory's and the agent's."""


def load_engine(
    name: str, settings: EngineSettings | None = None, models: Path | None = None
) -> LlamaEngine:
    """The llama.cpp engine on a model given by catalogue name or by path to a GGUF file.

    `models` is the folder to look in (default: `ARIGRAPH_MODELS`, else a per-user folder). The
    engine is identified by the model's name and checksum. Raises `UsageError` or
    `ModelFileError` in one line for a model that is unknown, missing or damaged.
    """
    settings = settings or EngineSettings()
    model = locate(name, models_folder(models), ModelKind.GGUF)
    checksum = model.sha256 or file_sha256(model.path)
    chat_format = settings.chat_format or (model.entry.chat_format if model.entry else None)
    return LlamaEngine.load(
        model.path,
        model_id=f"{model.name} sha256:{checksum}",
        context_tokens=settings.context,
        conversations=_CONVERSATIONS,
        threads=settings.threads,
        gpu_layers=settings.gpu_layers,
        chat_format=chat_format,
    )
