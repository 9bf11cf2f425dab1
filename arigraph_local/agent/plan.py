"""The plan: task-relevant sub-goals, each with a reason (paper section 3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SubGoal(BaseModel):
    """One thing to achieve on the way to the goal, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    goal: str
    reason: str


class EntityInterest(BaseModel):
    """A thing to look up in memory. `relevance` is the depth of its search (1 to 3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    relevance: int = Field(ge=1, le=3)


class Plan(BaseModel):
    """The reply of the planning task: sub-goals, the next one first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sub_goals: tuple[SubGoal, ...] = ()
    needs_exploration: bool = True
    entities: tuple[EntityInterest, ...] = ()


def parse_plan(reply: str) -> Plan | None:
    """The plan of a reply, or None if the reply was cut off before its end."""
    try:
        return Plan.model_validate_json(reply)
    except ValidationError:
        return None
