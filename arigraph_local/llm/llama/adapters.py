"""LoRA adapters over the weights of one model."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

from arigraph_local.errors import ArigraphError, ModelFileError
from arigraph_local.llm.files.gguf import read_header
from arigraph_local.llm.llama.llama_api import api, first_log_error, forget_log_errors
from arigraph_local.llm.llama.model_options import Adapter


class LoadedAdapters:
    """Adapters in memory; llama.cpp frees them with the model."""

    def __init__(self, model: Any, model_name: str, adapters: Sequence[Adapter]) -> None:
        """`model` is the model's handle.

        Raises `ModelFileError` naming the file that is missing, no adapter, or for another model.
        """
        self._handles = [_load(model, model_name, adapter) for adapter in adapters]
        self._scales = [adapter.scale for adapter in adapters]

    def apply(self, context: Any) -> None:
        """Lay the adapters over the weights for one context.

        Raises `ArigraphError` if llama.cpp refuses.
        """
        count = len(self._handles)
        if not count:
            return
        handles = (api.llama_adapter_lora_p_ctypes * count)(*self._handles)
        scales = (ctypes.c_float * count)(*self._scales)
        if (code := api.llama_set_adapters_lora(context, handles, count, scales)) != 0:
            raise ArigraphError(f"the LoRA adapters cannot be used (code {code})")


def _load(model: Any, model_name: str, adapter: Adapter) -> Any:
    kind = read_header(adapter.path).metadata.get("general.type")
    if kind != "adapter":
        raise ModelFileError(f"{adapter.path} is no LoRA adapter: general.type is {kind!r}")
    forget_log_errors()
    handle = api.llama_adapter_lora_init(model, os.fsencode(adapter.path))
    if not handle:
        raise ModelFileError(f"{adapter.path} does not fit {model_name}: {first_log_error()}")
    return handle
