"""`envs/cleaning.toml`: the levels, the rooms and where things belong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from arigraph_local.envs.compiling import check_names
from arigraph_local.errors import GameError

Name = Annotated[str, StringConstraints(pattern=r"^[a-z]+( [a-z]+)*$")]

_WORD_OF_A_COMMAND = re.compile(
    r"\b(and|then|all|each|every|everything|both|from|with|on|in|into|the|of)\b"
)


class CleaningRoom(BaseModel):
    """One `[[rooms]]` table: a room, and what belongs on and in its furniture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    surfaces: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)
    containers: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)

    @property
    def furniture(self) -> Mapping[str, tuple[str, ...]]:
        """Surfaces and containers with the things that belong there."""
        return {**self.surfaces, **self.containers}

    @property
    def spare(self) -> int:
        """How many things can be out of place while each piece of furniture keeps one."""
        return sum(max(0, len(things) - 1) for things in self.furniture.values())


class CleaningLevel(BaseModel):
    """One `[levels.NAME]` table of `cleaning.toml`; the file says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rooms: int = Field(ge=2)
    misplaced: int = Field(ge=1)
    hidden: int = Field(ge=0)
    cycles: int = Field(ge=0)
    step_limit: int = Field(ge=1)

    @model_validator(mode="after")
    def _hidden_are_misplaced(self) -> CleaningLevel:
        if self.hidden > self.misplaced:
            raise ValueError(f"{self.hidden} of {self.misplaced} misplaced things cannot be hidden")
        return self

    @property
    def max_score(self) -> int:
        """A point for taking each misplaced thing, and one for putting it in its place."""
        return 2 * self.misplaced


class PublishedHouse(BaseModel):
    """One `[[published]]` table: the furniture of a house made elsewhere and what belongs there.

    A place can be a room: what belongs on its floor. Of two places for one thing, the house has
    one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    game: str
    places: dict[str, tuple[str, ...]]


class CleaningDefinition(BaseModel):
    """The whole of `cleaning.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    goal: str
    rooms: tuple[CleaningRoom, ...]
    levels: dict[str, CleaningLevel]
    published: tuple[PublishedHouse, ...] = ()

    @property
    def places(self) -> Mapping[str, tuple[str, ...]]:
        """All furniture with the things that belong there."""
        return {place: things for room in self.rooms for place, things in room.furniture.items()}

    @model_validator(mode="after")
    def _names_can_be_told_apart(self) -> CleaningDefinition:
        names = [room.name for room in self.rooms]
        for room in self.rooms:
            for place, things in room.furniture.items():
                names += [place, *things]
        for name in names:
            if found := _WORD_OF_A_COMMAND.search(name):
                raise ValueError(f"the name '{name}' holds '{found[0]}', a word of commands")
        try:
            check_names(names)
        except GameError as error:
            raise ValueError(str(error)) from error
        return self

    @model_validator(mode="after")
    def _every_draw_of_rooms_will_do(self) -> CleaningDefinition:
        spare = sorted(room.spare for room in self.rooms)
        bare = sum(not room.containers for room in self.rooms)
        for name, level in self.levels.items():
            if level.rooms > len(self.rooms):
                raise ValueError(f"level {name} has more rooms than there are names")
            if sum(spare[: level.rooms]) < level.misplaced:
                raise ValueError(
                    f"level {name} misplaces more things than {level.rooms} rooms have"
                )
            if level.hidden and level.rooms - bare < 2:
                raise ValueError(f"level {name} hides things, but its rooms may have no containers")
        return self
