"""Settings of the inference engine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class EngineSettings(BaseModel):
    """How the model is loaded and run. `threads` None: one a physical core."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["reproducible"] = "reproducible"
    context: int = Field(default=4096, ge=256, le=1_048_576)
    threads: int | None = Field(default=None, ge=1, le=1024)
    gpu_layers: int = Field(default=0, ge=-1)
    chat_format: str | None = None
    reply_seconds: float | None = Field(default=None, gt=0)
