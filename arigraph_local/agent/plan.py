"""The plan: sub-goals, each with a reason, kept until they are achieved (paper section 3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SubGoal(BaseModel):
    """One thing to achieve on the way to the goal, why, and the step at which it was set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    goal: str
    reason: str
    since: int = 0


class EntityInterest(BaseModel):
    """A thing to look up in memory. `relevance` is the depth of its search (1 to 3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    relevance: int = Field(ge=1, le=3)


class Plan(BaseModel):
    """Sub-goals, the next one first; whether to explore; what to look up."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sub_goals: tuple[SubGoal, ...] = ()
    needs_exploration: bool = True
    entities: tuple[EntityInterest, ...] = ()


class Revision(BaseModel):
    """The reply of the planning task: what changes in the plan.

    `done` numbers the sub-goals, from 1, that are achieved or given up; `sub_goals` are new.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    done: tuple[int, ...] = ()
    sub_goals: tuple[SubGoal, ...] = ()
    needs_exploration: bool = True
    entities: tuple[EntityInterest, ...] = ()


def parse_revision(reply: str) -> Revision | None:
    """The revision of a reply, or None if the reply was cut off before its end."""
    try:
        return Revision.model_validate_json(reply)
    except ValidationError:
        return None


def revised(plan: Plan, revision: Revision, *, step: int, limit: int) -> Plan:
    """The plan after a revision: new sub-goals before those that remain, `limit` at most.

    A sub-goal that is set again in the same words keeps its step, even where the reply says that
    it is done: small models often repeat the whole plan.
    """
    since = {_wording(goal): goal.since for goal in plan.sub_goals}
    kept = [goal for number, goal in enumerate(plan.sub_goals, 1) if number not in revision.done]
    standing = {_wording(goal) for goal in kept}
    new = {
        _wording(goal): goal.model_copy(update={"since": since.get(_wording(goal), step)})
        for goal in revision.sub_goals
        if _wording(goal) not in standing
    }
    return Plan(
        sub_goals=(*new.values(), *kept)[:limit],
        needs_exploration=revision.needs_exploration,
        entities=revision.entities,
    )


def _wording(goal: SubGoal) -> str:
    return " ".join(goal.goal.lower().split())
