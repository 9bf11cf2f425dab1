"""Settings of the Ariadne agent. Defaults are the paper's where the paper gives one."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

QueryKind = Literal["goal", "observation", "plan", "entities"]
NavigationKind = Literal["memory", "walked", "off"]
ChooseBy = Literal["text", "number", "likelihood", "likelihood-per-token"]


class AgentSettings(BaseModel):
    """The episode loop: steps, history, sampling of plan and action, bounds of the replies.

    `queries` says what the memory is searched for at each step, and in which order: the goal, the
    observation, the next sub-goal of the plan, the entities that the plan names.
    `plan` off leaves out planning, `exploration` off the unexplored exits (paper section 5.1).
    `navigation` says where `go to` and unexplored exits come from: the map that the memory draws,
    as in the paper, one of the moves that were walked, the same for every memory, or neither.
    A sub-goal without progress for `stale_after` steps is flagged in the plan (0: never).
    `loop_guard` is one that the paper does not have: an action that was done `repeat_limit` times
    in the same situation, and nothing new was seen since, is named to the model (`tell`), or not
    offered in it either (`withhold`).
    `choose_by` is how the model names its action: by the action's `text`, or by its `number` in the
    list, each after its rationale; or, without saying anything, by the `likelihood` of each action
    as its reply, of the whole or `likelihood-per-token`. Of `votes` replies, each sampled at
    `vote_temperature`, the action named most often is taken (self-consistency); a single one is
    sampled at `temperature`.
    `examples` of the prompt set's worked examples of acting, the most similar to what is seen and
    wanted, are shown before the actions.
    `prompt_tokens` bounds the working memory more tightly than the context does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int | None = Field(default=None, ge=1, le=100_000)
    queries: tuple[QueryKind, ...] = Field(
        default=("goal", "observation", "plan", "entities"), min_length=1
    )
    history: int = Field(default=5, ge=0, le=1000)
    temperature: float = Field(default=0.2, ge=0.0, le=5.0)
    plan: bool = True
    max_sub_goals: int = Field(default=3, ge=1, le=20)
    max_entities: int = Field(default=3, ge=1, le=20)
    stale_after: int = Field(default=8, ge=0)
    exploration: bool = True
    navigation: NavigationKind = "memory"
    loop_guard: Literal["off", "tell", "withhold"] = "withhold"
    repeat_limit: int = Field(default=2, ge=1)
    choose_by: ChooseBy = "text"
    votes: int = Field(default=1, ge=1, le=100)
    vote_temperature: float = Field(default=0.7, ge=0.0, le=5.0)
    examples: int = Field(default=0, ge=0, le=20)
    max_actions: int = Field(default=40, ge=2, le=1000)
    prompt_tokens: int | None = Field(default=None, ge=200)

    @model_validator(mode="after")
    def _votes_differ(self) -> Self:
        if self.votes > 1 and self.choose_by.startswith("likelihood"):
            raise ValueError("votes: every vote by likelihood is the same; set votes to 1")
        return self
