"""Settings of the Ariadne agent. Defaults are the paper's where the paper gives one."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

QueryKind = Literal["goal", "observation", "plan", "entities"]


class AgentSettings(BaseModel):
    """The episode loop: steps, history, sampling of plan and action, bounds of the replies.

    `queries` says what the memory is searched for at each step, and in which order: the goal, the
    observation, the next sub-goal of the plan, the entities that the plan names.
    `repeat_limit` is a loop guard that the paper does not have: an action that changed neither
    room, inventory nor score that many times in the same situation is not offered again in it
    (0: no guard).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int | None = Field(default=None, ge=1, le=100_000)
    queries: tuple[QueryKind, ...] = Field(
        default=("goal", "observation", "plan", "entities"), min_length=1
    )
    history: int = Field(default=5, ge=0, le=1000)
    temperature: float = Field(default=0.2, ge=0.0, le=5.0)
    max_sub_goals: int = Field(default=3, ge=1, le=20)
    max_entities: int = Field(default=3, ge=1, le=20)
    repeat_limit: int = Field(default=2, ge=0)
    max_actions: int = Field(default=40, ge=2, le=1000)
