"""Settings of the Ariadne agent. Defaults are the paper's where the paper gives one."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class AgentSettings(BaseModel):
    """The episode loop: steps, history, sampling of plan and action, bounds of the replies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int | None = Field(default=None, ge=1, le=100_000)
    history: int = Field(default=5, ge=0, le=1000)
    temperature: float = Field(default=0.2, ge=0.0, le=5.0)
    max_sub_goals: int = Field(default=3, ge=1, le=20)
    max_entities: int = Field(default=4, ge=1, le=20)
    max_actions: int = Field(default=40, ge=2, le=1000)
