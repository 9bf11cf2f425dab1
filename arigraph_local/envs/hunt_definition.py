"""`envs/hunt.toml`: the levels, names and scoring of Treasure Hunt."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

Word = Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]

_ROOMS_PER_ROW = 9


class HuntLevel(BaseModel):
    """One `[levels.NAME]` table of `hunt.toml`; the file says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rooms: int = Field(ge=2, le=len(ascii_uppercase) * _ROOMS_PER_ROW)
    chain: int = Field(ge=1)
    decoys: int = Field(ge=0)
    cycles: int = Field(ge=0)
    items: int = Field(ge=0)
    step_limit: int = Field(ge=1)
    first_key: Literal["start", "anywhere"]

    @model_validator(mode="after")
    def _one_locker_a_room(self) -> HuntLevel:
        if self.chain + self.decoys > self.rooms:
            raise ValueError(f"{self.chain + self.decoys} lockers do not fit in {self.rooms} rooms")
        return self


class HuntScoring(BaseModel):
    """Points for taking each key and for taking the treasure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: int = Field(ge=0)
    treasure: int = Field(ge=1)


class HuntDefinition(BaseModel):
    """The whole of `hunt.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    goal: str
    colours: tuple[Word, ...]
    items: tuple[Word, ...]
    scoring: HuntScoring
    levels: dict[str, HuntLevel]

    @model_validator(mode="after")
    def _enough_names(self) -> HuntDefinition:
        for name, level in self.levels.items():
            if level.chain + level.decoys - 1 > len(self.colours):
                raise ValueError(f"level {name} has more lockers than there are colours")
            if level.items > len(self.items):
                raise ValueError(f"level {name} has more items than there are names")
        return self

    def max_score(self, level: HuntLevel) -> int:
        """Points for the keys of the chain and the treasure."""
        return level.chain * self.scoring.key + self.scoring.treasure


def room_names(count: int) -> tuple[str, ...]:
    """`Room A`, `Room B` … or, beyond 26 rooms, `Room A1` … `Room A9`, `Room B1` …: no name is
    contained in another."""
    if count <= len(ascii_uppercase):
        return tuple(f"Room {letter}" for letter in ascii_uppercase[:count])
    labels = (f"{letter}{n}" for letter in ascii_uppercase for n in range(1, _ROOMS_PER_ROW + 1))
    return tuple(f"Room {label}" for label, _ in zip(labels, range(count), strict=False))
