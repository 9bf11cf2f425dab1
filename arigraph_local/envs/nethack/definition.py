"""`envs/nethack.toml`: the character, the goal and the levels of NetHack."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Character = Annotated[str, StringConstraints(pattern=r"^[a-z]{3}-[a-z]{3}-[a-z]{3}-[a-z]{3}$")]


class NetHackLevel(BaseModel):
    """One `[levels.NAME]` table of `nethack.toml`; the file says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    whole_level: bool
    step_limit: int = Field(ge=1)
    skill_steps: int = Field(ge=1, le=10_000)


class NetHackDefinition(BaseModel):
    """The whole of `nethack.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    goal: str
    character: Character
    levels: dict[str, NetHackLevel]
