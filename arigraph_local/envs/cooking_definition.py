"""`envs/cooking.toml`: the levels and wordings of Cooking."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Sentence = Annotated[str, StringConstraints(min_length=1, pattern=r'^[^"\[\]\n]+$')]
"""A text that Inform 7 takes as it is."""

_ROOMS_WITHOUT_BBQ = 6


class CookingLevel(BaseModel):
    """One `[levels.NAME]` table of `cooking.toml`; the file says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ingredients: int = Field(ge=1, le=5)
    rooms: Literal[1, 6, 9, 12]
    cook: bool
    cut: bool
    closed: bool
    carry_limit: bool
    foods: Literal["all", "train", "valid", "test"]
    tool_hint: bool
    step_limit: int = Field(ge=1)

    @property
    def max_score(self) -> int:
        """A point for taking, cooking and cutting each ingredient, for the meal, for eating it."""
        return self.ingredients * (1 + self.cook + self.cut) + 2

    @model_validator(mode="after")
    def _textworld_can_make_it(self) -> CookingLevel:
        if self.cut and not self.cook and self.rooms > _ROOMS_WITHOUT_BBQ:
            # TextWorld then draws salt and water, of which there is nothing to cut.
            raise ValueError(f"cut without cook needs 1 or 6 rooms, not {self.rooms}")
        return self


class CookingDefinition(BaseModel):
    """The whole of `cooking.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    goal: Sentence
    tool_hint: Sentence
    levels: dict[str, CookingLevel]

    def objective(self, level: CookingLevel) -> str:
        """What the player of a level is told."""
        return f"{self.goal} {self.tool_hint}" if level.tool_hint else self.goal
