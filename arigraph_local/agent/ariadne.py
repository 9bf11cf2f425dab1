"""Ariadne: recall, plan, act (paper section 3)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from arigraph_local.agent.acting import Choice, parse_choice
from arigraph_local.agent.exploring import destinations, frontiers, offered_actions
from arigraph_local.agent.loop_guard import LoopGuard
from arigraph_local.agent.plan import Plan, parse_plan
from arigraph_local.agent.settings import AgentSettings, QueryKind
from arigraph_local.agent.working_memory import PastStep, WorkingMemory, fit
from arigraph_local.envs.environment import Observation
from arigraph_local.errors import ContextOverflowError
from arigraph_local.llm.engine import Completion, Engine, Limits, Message, Request, Sampling
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.arigraph import AriGraph, Retrieval
from arigraph_local.memory.learning.observing import ModelCall
from arigraph_local.memory.search.semantic_search import Query
from arigraph_local.memory.spatial.spatial_map import SpatialMap
from arigraph_local.memory.triplet import normalise

CONVERSATION = "agent"
PLAN_TOKENS = 280
ACT_TOKENS = 120


@dataclass(frozen=True)
class Decision:
    """What the agent decided in one step, and what it was decided from."""

    choice: Choice
    plan: Plan
    plan_kept: bool
    queries: tuple[Query, ...]
    retrieval: Retrieval
    calls: tuple[ModelCall, ...]
    dropped: dict[str, int]


class Ariadne:
    """The decision module over an AriGraph memory. One instance plays one episode."""

    def __init__(
        self,
        engine: Engine,
        memory: AriGraph,
        goal: str,
        *,
        prompts: PromptSet,
        settings: AgentSettings,
        seed: int = 0,
        reply_seconds: float | None = None,
        reasoning_tokens: int = 0,
    ) -> None:
        """`reply_seconds` bounds one reply; `reasoning_tokens` what a reasoning model may think
        before its plan and before its action.
        """
        self._engine = engine
        self._memory = memory
        self._goal = goal
        self._prompts = prompts
        self._settings = settings
        self._seed = seed
        self._reply_seconds = reply_seconds
        self._reasoning_tokens = reasoning_tokens
        self._system = Message(
            "system",
            prompts.system("plan", goal=goal, max_sub_goals=settings.max_sub_goals),
        )
        self._loop_guard = LoopGuard(settings.repeat_limit)
        self.plan = Plan()
        self.history: tuple[PastStep, ...] = ()

    def decide(self, observation: Observation, step: int, note: str = "") -> Decision:
        """Recall, revise the plan, choose one action. The memory must know the observation."""
        queries = self._queries(observation)
        retrieval = self._memory.search(queries, exclude_steps=self._shown_steps(step))
        graph = self._memory.map()
        working = WorkingMemory(
            step=step,
            observation=observation.text,
            inventory=observation.inventory,
            location=observation.location,
            facts=retrieval.facts,
            episodes=retrieval.episodes,
            history=self.history,
            exits=self._unexplored(observation, graph),
            plan=self.plan,
            note=note,
        )
        planned, plan_request, dropped = self._ask_plan(working, step)
        revised = parse_plan(planned.text)
        self.plan = revised or self.plan
        possible = self._possible(observation, graph)
        offered = self._loop_guard.allowed(observation, possible)
        acted, actions = self._ask_action(plan_request, planned, offered, step)
        left_out = {
            "repeated actions": len(possible) - len(offered),
            "actions": len(offered) - len(actions),
        }
        dropped |= {kind: count for kind, count in left_out.items() if count}
        return Decision(
            choice=parse_choice(acted.text, actions, self._sampling("act", step).seed),
            plan=self.plan,
            plan_kept=revised is None,
            queries=queries,
            retrieval=retrieval,
            calls=(ModelCall("plan", planned), ModelCall("act", acted)),
            dropped=dropped,
        )

    def remember(self, step: int, before: Observation, action: str, after: Observation) -> None:
        """Add a finished step to the short history, which keeps the last `history` of them."""
        kept = self._settings.history
        past = PastStep(step, before.text, action)
        self.history = (*self.history, past)[-kept:] if kept else ()
        self._loop_guard.note(before, action, after)

    def _queries(self, observation: Observation) -> tuple[Query, ...]:
        """What the settings ask to search for, each text with its depth, repeats left out."""
        depth = self._memory.settings.depth
        entities = [
            Query(normalise(entity.name), entity.relevance)
            for entity in self.plan.entities
            if normalise(entity.name)
        ]
        kinds: dict[QueryKind, list[Query]] = {
            "goal": [Query(self._goal, depth)],
            "observation": [Query(observation.text, depth)],
            "plan": [Query(goal.goal, depth) for goal in self.plan.sub_goals[:1]],
            "entities": entities,
        }
        return tuple(dict.fromkeys(q for kind in self._settings.queries for q in kinds[kind]))

    def _shown_steps(self, step: int) -> set[int]:
        return {step, *(past.step for past in self.history)}

    def _unexplored(self, observation: Observation, graph: SpatialMap) -> tuple[str, ...]:
        """Algorithm 3 runs while the plan wants exploration."""
        if observation.location is None or not self.plan.needs_exploration:
            return ()
        found = frontiers(graph, normalise(observation.location), observation.valid_actions)
        return tuple(str(frontier) for frontier in found[:12])

    def _possible(self, observation: Observation, graph: SpatialMap) -> list[str]:
        rooms: list[str] = []
        if observation.location is not None:
            rooms = destinations(graph, normalise(observation.location))
        return offered_actions(observation.valid_actions, rooms, limit=self._settings.max_actions)

    def _ask_plan(
        self, working: WorkingMemory, step: int
    ) -> tuple[Completion, Request, dict[str, int]]:
        replies = PLAN_TOKENS + ACT_TOKENS + 2 * self._reasoning_tokens
        limit = self._engine.context_tokens - replies - self._action_room()
        fitted, dropped = fit(
            working,
            lambda memory: self._engine.count_tokens(self._plan_messages(memory)) <= limit,
        )
        request = Request(
            task="plan",
            conversation=CONVERSATION,
            messages=self._plan_messages(fitted),
            limits=Limits(PLAN_TOKENS, self._reply_seconds),
            grammar=self._prompts.grammar(
                "plan",
                max_sub_goals=self._settings.max_sub_goals,
                max_entities=self._settings.max_entities,
            ),
            sampling=self._sampling("plan", step),
            reasoning_tokens=self._reasoning_tokens,
        )
        return self._engine.generate([request])[0], request, dropped

    def _action_room(self) -> int:
        """Tokens kept free for the list of actions that follows the plan."""
        return min(self._engine.context_tokens // 4, 12 * self._settings.max_actions)

    def _plan_messages(self, working: WorkingMemory) -> tuple[Message, ...]:
        user = self._prompts.user("plan", **working.prompt_values())
        return (self._system, Message("user", user))

    def _ask_action(
        self, plan_request: Request, planned: Completion, offered: list[str], step: int
    ) -> tuple[Completion, list[str]]:
        """Ask for one of the offered actions; of too many for the context, the first that fit."""
        actions = offered
        while True:
            question = Message("user", self._prompts.user("act", actions=actions))
            request = Request(
                task="act",
                conversation=CONVERSATION,
                messages=(*plan_request.messages, planned.as_message(), question),
                limits=Limits(ACT_TOKENS, self._reply_seconds),
                grammar=self._prompts.grammar("act", actions=actions),
                sampling=self._sampling("act", step),
                reasoning_tokens=self._reasoning_tokens,
            )
            try:
                return self._engine.generate([request])[0], actions
            except ContextOverflowError:
                if len(actions) == 1:
                    raise
                actions = actions[: -(-len(actions) * 3 // 4) - 1]

    def _sampling(self, task: str, step: int) -> Sampling:
        """A seed for each request that depends on nothing but the run's seed, step and task."""
        digest = hashlib.sha256(f"{self._seed}/{step}/{task}".encode()).digest()
        return Sampling(self._settings.temperature, int.from_bytes(digest[:4], "big"))
