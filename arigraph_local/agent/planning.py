"""Planning: the model revises the plan from working memory (paper section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from arigraph_local.agent.asking import Asker
from arigraph_local.agent.plan import Plan, parse_revision, revised
from arigraph_local.agent.settings import AgentSettings
from arigraph_local.agent.working_memory import WorkingMemory, fit
from arigraph_local.llm.engine import Completion, Message
from arigraph_local.llm.prompts import PromptSet

PLAN_TOKENS = 280


@dataclass(frozen=True)
class Planning:
    """A plan after its revision, and the conversation so far; `kept` when the reply was cut off.

    `completion` is None where the settings leave planning out; `dropped` counts, by kind, what
    did not fit in the prompt.
    """

    plan: Plan
    kept: bool
    messages: tuple[Message, ...]
    completion: Completion | None
    dropped: dict[str, int]


class Planner:
    """Asks for a revision of the plan; without `settings.plan`, only lays out the situation."""

    def __init__(self, ask: Asker, prompts: PromptSet, settings: AgentSettings, goal: str) -> None:
        self._ask = ask
        self._prompts = prompts
        self._settings = settings
        self._system = Message(
            "system",
            prompts.system(
                "plan", goal=goal, max_sub_goals=settings.max_sub_goals, planning=settings.plan
            ),
        )

    def revise(self, working: WorkingMemory, room: int) -> Planning:
        """The plan for this situation. `room` are tokens to keep free for what follows."""
        limit = self._ask.context_tokens - room - (PLAN_TOKENS if self._settings.plan else 0)
        if self._settings.prompt_tokens is not None:
            limit = min(limit, self._settings.prompt_tokens)
        fitted, dropped = fit(
            working, lambda memory: self._ask.count_tokens(self._messages(memory)) <= limit
        )
        messages = self._messages(fitted)
        if not self._settings.plan:
            return Planning(working.plan, False, messages, None, dropped)
        completion = self._ask(
            "plan", working.step, messages, self._grammar(working.plan), PLAN_TOKENS
        )
        revision = parse_revision(completion.text)
        plan = working.plan
        if revision is not None:
            limit = self._settings.max_sub_goals
            plan = revised(plan, revision, step=working.step, limit=limit)
        messages = (*messages, completion.as_message())
        return Planning(plan, revision is None, messages, completion, dropped)

    def _grammar(self, plan: Plan) -> str:
        return self._prompts.grammar(
            "plan",
            standing=len(plan.sub_goals),
            max_sub_goals=self._settings.max_sub_goals,
            max_entities=self._settings.max_entities,
        )

    def _messages(self, working: WorkingMemory) -> tuple[Message, ...]:
        user = self._prompts.user("plan", planning=self._settings.plan, **working.prompt_values())
        return (self._system, *working.recollection.turns, Message("user", user))
