"""Settings of the inference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from arigraph_local.llm.llama.context_options import (
    ContextOptions,
    FlashAttention,
    KvType,
    is_quantised,
)
from arigraph_local.llm.llama.model_options import Adapter, ModelOptions

_OF_THIS_PROCESS = (
    "threads",
    "n_batch",
    "n_ubatch",
    "gpu_layers",
    "flash_attention",
    "kv_type",
    "mmap",
    "mlock",
    "lora",
    "kept_bytes",
    "chat_format",
)


class LoraSettings(BaseModel):
    """A LoRA adapter: a GGUF file, and by how much it counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    scale: float = Field(default=1.0, allow_inf_nan=False)


class EngineSettings(BaseModel):
    """How the model is loaded and run.

    `mode` `reproducible` gives the same reply to the same request whatever was asked before;
    `throughput` computes many requests together, which is faster and may change a reply at
    near-ties. `context` is what prompt and reply of one request may fill, in tokens, and
    `episodes` how many episodes are played side by side on this engine.
    `threads` None: one a physical core. `n_batch` is the most tokens of one decode call,
    `n_ubatch` the most computed together inside it.
    `gpu_layers` go to the GPU (-1: all). `flash_attention` `auto` leaves the choice to llama.cpp.
    `kv_type` is the precision of cached keys and values; the quantised ones need flash attention.
    `mmap` maps the model file instead of reading it; `mlock` keeps it from being swapped out.
    `lora` lists adapters, each a path, `PATH:SCALE`, or a table of `path` and `scale`.
    `kept_bytes` bounds the memory for kept prompts in `throughput` mode (None: what fits).
    `chat_format` replaces the model's own chat template.
    `reply_seconds` bounds the time of one reply. `reasoning_tokens` lets a reasoning model think
    that long before it plans or acts (0: not at all).
    `response_cache` is a folder of earlier replies, given again to equal requests (None: off).
    `server` is the address of an OpenAI-compatible server that runs the model elsewhere; what
    concerns the loading of a model is then set there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["reproducible", "throughput"] = "reproducible"
    context: int = Field(default=4096, ge=256, le=1_048_576)
    episodes: int = Field(default=1, ge=1, le=128)
    threads: int | None = Field(default=None, ge=1, le=1024)
    n_batch: int = Field(default=512, ge=32, le=65_536)
    n_ubatch: int = Field(default=512, ge=32, le=65_536)
    gpu_layers: int = Field(default=0, ge=-1)
    flash_attention: FlashAttention = "auto"
    kv_type: KvType = "f16"
    mmap: bool = True
    mlock: bool = False
    lora: tuple[LoraSettings, ...] = ()
    kept_bytes: int | None = Field(default=None, ge=1 << 20)
    chat_format: str | None = None
    reply_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    reasoning_tokens: int = Field(default=0, ge=0, le=65_536)
    response_cache: Path | None = None
    server: str | None = None

    @field_validator("lora", mode="before")
    @classmethod
    def _adapters_as_texts(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [_parse_adapter(item) if isinstance(item, str) else item for item in value]

    @field_validator("server")
    @classmethod
    def _server_address(cls, server: str | None) -> str | None:
        if server is None:
            return None
        try:
            parts = urlsplit(server)
            # Reading the port is what checks it.
            valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("a server is given as http://HOST:PORT or https://HOST:PORT")
        if parts.username or parts.password:
            raise ValueError("no password in the address: a key goes into ARIGRAPH_API_KEY")
        return server.rstrip("/")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.n_ubatch > self.n_batch:
            raise ValueError(f"n_ubatch {self.n_ubatch} is more than n_batch {self.n_batch}")
        if is_quantised(self.kv_type) and self.flash_attention == "off":
            raise ValueError(
                f"kv_type {self.kv_type} needs flash attention: set flash_attention to auto or on"
            )
        if self.server is not None:
            self._check_left_to_server()
        return self

    def _check_left_to_server(self) -> None:
        for name in _OF_THIS_PROCESS:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} is set where the server runs, not beside engine.server")

    @property
    def model_options(self) -> ModelOptions:
        """What the weights are loaded with."""
        return ModelOptions(
            gpu_layers=self.gpu_layers,
            mmap=self.mmap,
            mlock=self.mlock,
            adapters=tuple(Adapter(lora.path.expanduser(), lora.scale) for lora in self.lora),
        )

    @property
    def context_options(self) -> ContextOptions:
        """What a context is made with."""
        return ContextOptions(self.n_batch, self.n_ubatch, self.flash_attention, self.kv_type)


def _parse_adapter(text: str) -> dict[str, Any]:
    """`PATH` or `PATH:SCALE`."""
    path, colon, scale = text.rpartition(":")
    try:
        return {"path": path, "scale": float(scale)} if colon else {"path": text}
    except ValueError:
        return {"path": text}
