"""Ariadne as a player: what its choices were made from goes into the log."""

from __future__ import annotations

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.ariadne import Ariadne
from arigraph_local.agent.episode import Player
from arigraph_local.agent.long_term_memory import Emit
from arigraph_local.agent.plan import Plan
from arigraph_local.agent.recording import called
from arigraph_local.envs.environment import Observation
from arigraph_local.events import Dropped, Event, LoopNoticed, Planned


class AriadnePlayer(Player):
    """Plays one episode with an agent whose memory has learned each observation before."""

    def __init__(self, agent: Ariadne) -> None:
        self._agent = agent

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice:
        """Recall, revise the plan, choose one action; all of it told to `emit`."""
        decision = self._agent.decide(observation, step, note, emit)
        if decision.loops:
            emit(LoopNoticed(step=step, actions=decision.loops))
        if decision.dropped:
            emit(Dropped(step=step, task="plan", items=decision.dropped))
        for call in decision.calls:
            emit(called(step, call))
        if decision.plan is not None:
            plan = decision.plan.model_dump(mode="json")
            emit(Planned(step=step, plan=plan, kept=decision.plan_kept))
        return decision.choice

    def remember(self, step: int, before: Observation, action: str, after: Observation) -> None:
        """Keep the step in the agent's short history."""
        self._agent.remember(step, before, action, after)

    def recall(self, event: Event, observation: Observation) -> None:
        """Take up the plan as it was logged."""
        if isinstance(event, Planned):
            self._agent.plan = Plan.model_validate(event.plan)
