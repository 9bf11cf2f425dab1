"""Ariadne: recall, plan, act (paper section 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arigraph_local.agent.acting import ACT_TOKENS, Actor, Choice, Offer
from arigraph_local.agent.asking import Asker
from arigraph_local.agent.examples import EXAMPLE_TOKENS, ActingExample, ActingExamples
from arigraph_local.agent.long_term_memory import Cue, Emit, LongTermMemory, Look
from arigraph_local.agent.loop_guard import LoopGuard
from arigraph_local.agent.navigation import Navigator, Ways
from arigraph_local.agent.plan import Plan
from arigraph_local.agent.planning import PLAN_TOKENS, Planner
from arigraph_local.agent.progress import Progress
from arigraph_local.agent.settings import AgentSettings, QueryKind
from arigraph_local.agent.working_memory import PastStep, WorkingMemory
from arigraph_local.envs.environment import Observation
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.observing import ModelCall
from arigraph_local.memory.triplet import normalise


@dataclass(frozen=True)
class Decision:
    """What the agent decided in one step, and what it took.

    `plan` is None where the settings leave planning out; `loops` are the actions that the loop
    guard named.
    """

    choice: Choice
    plan: Plan | None
    plan_kept: bool
    calls: tuple[ModelCall, ...]
    dropped: dict[str, int]
    loops: tuple[str, ...]


class Ariadne:
    """The decision module over a long-term memory. One instance plays one episode."""

    def __init__(
        self,
        engine: Engine,
        memory: LongTermMemory,
        navigator: Navigator,
        goal: str,
        *,
        prompts: PromptSet,
        settings: AgentSettings,
        examples: ActingExamples | None = None,
        seed: int = 0,
        reply_seconds: float | None = None,
        reasoning_tokens: int = 0,
    ) -> None:
        """`examples` are those that `settings.examples` are taken from; `reply_seconds` bounds one
        reply; `reasoning_tokens` what a reasoning model may think before its plan and before its
        action.
        """
        self._ask = Asker(
            engine,
            temperature=settings.temperature,
            seed=seed,
            reply_seconds=reply_seconds,
            reasoning_tokens=reasoning_tokens,
        )
        self._memory = memory
        self._navigator = navigator
        self._goal = goal
        self._settings = settings
        self._examples = examples
        self._planner = Planner(self._ask, prompts, settings, goal)
        self._actor = Actor(self._ask, prompts, settings)
        self._loop_guard = LoopGuard(settings.repeat_limit)
        self._progress = Progress()
        self.plan = Plan()
        self.history: tuple[PastStep, ...] = ()

    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Decision:
        """Recall, revise the plan, choose one action. The memory must know the observation."""
        ways = self._navigator.ways(observation)
        if not self._settings.exploration:
            ways = replace(ways, frontiers=())
        loops = self._loops(observation, ways)
        room = ACT_TOKENS + self._action_room() + self._ask.reasoning_tokens
        recalled = self._memory.recall(self._cue(observation, step, room), emit)
        wanted = ways.frontiers if self.plan.needs_exploration else ()
        working = WorkingMemory(
            step=step,
            observation=observation.text,
            inventory=observation.inventory,
            location=observation.location,
            recollection=recalled,
            history=self.history,
            exits=tuple(str(frontier) for frontier in wanted),
            plan=self.plan,
            stale=self._stale(step),
            notes=self._notes(note, loops),
        )
        planning = self._planner.revise(working, room)
        self.plan = planning.plan
        offer, withheld = self._offer(observation, ways, loops)
        choice, acted, left_out = self._actor.choose(
            planning.messages, offer, step, self._worked_examples(observation)
        )
        planned = planning.completion
        calls = (ModelCall("plan", planned),) if planned else ()
        counts = {"repeated actions": withheld, "actions": left_out}
        return Decision(
            choice=choice,
            plan=self.plan if planned else None,
            plan_kept=planning.kept,
            calls=(*calls, *(ModelCall("act", completion) for completion in acted)),
            dropped=planning.dropped | {kind: n for kind, n in counts.items() if n},
            loops=loops,
        )

    def remember(self, step: int, before: Observation, action: str, after: Observation) -> None:
        """Add a finished step to the short history, which keeps the last `history` of them."""
        kept = self._settings.history
        past = PastStep(step, before.text, action)
        self.history = (*self.history, past)[-kept:] if kept else ()
        self._loop_guard.note(before, action, after)
        self._progress.note(step, before, after)

    def _cue(self, observation: Observation, step: int, room: int) -> Cue:
        return Cue(
            step=step,
            looks=self._looks(observation),
            shown_steps=frozenset({step, *(past.step for past in self.history)}),
            tokens=max(0, (self._ask.context_tokens - room - PLAN_TOKENS) // 2),
        )

    def _looks(self, observation: Observation) -> tuple[Look, ...]:
        """What the settings ask to search for, each text with its depth, repeats left out."""
        entities = [
            Look(normalise(entity.name), entity.relevance)
            for entity in self.plan.entities
            if normalise(entity.name)
        ]
        kinds: dict[QueryKind, list[Look]] = {
            "goal": [Look(self._goal)],
            "observation": [Look(observation.text)],
            "plan": [Look(goal.goal) for goal in self.plan.sub_goals[:1]],
            "entities": entities,
        }
        return tuple(dict.fromkeys(q for kind in self._settings.queries for q in kinds[kind]))

    def _worked_examples(self, observation: Observation) -> tuple[ActingExample, ...]:
        if self._examples is None:
            return ()
        wanted = self.plan.sub_goals[0].goal if self.plan.sub_goals else self._goal
        situation = f"{observation.text} {observation.inventory or ''} {wanted}"
        return self._examples.nearest(situation, self._settings.examples)

    def _stale(self, step: int) -> int:
        """Steps that the next sub-goal has been without progress, once they are too many."""
        if not self.plan.sub_goals or not self._settings.stale_after:
            return 0
        steps = step - max(self.plan.sub_goals[0].since, self._progress.step)
        return steps if steps >= self._settings.stale_after else 0

    def _loops(self, observation: Observation, ways: Ways) -> tuple[str, ...]:
        if self._settings.loop_guard == "off":
            return ()
        explored = (frontier.action for frontier in ways.frontiers)
        possible = dict.fromkeys((*observation.valid_actions, *ways.goals, *explored))
        return tuple(self._loop_guard.loops(observation, tuple(possible)))

    def _notes(self, note: str, loops: tuple[str, ...]) -> tuple[str, ...]:
        named = ", ".join(f"'{action}'" for action in loops[:5])
        looped = f"You go round in circles: nothing new came of {named} here." if loops else ""
        return tuple(filter(None, (note, looped)))

    def _offer(
        self, observation: Observation, ways: Ways, loops: tuple[str, ...]
    ) -> tuple[Offer, int]:
        """The actions on offer, those that failed before last, and how many loops withhold.

        There is always something to do: a game that offers nothing can be looked at.
        """
        game = self._loop_guard.ordered(observation.valid_actions)
        added = list(ways.goals)
        if self.plan.needs_exploration:
            added += [frontier.action for frontier in ways.frontiers]
        added = [action for action in added if action not in observation.valid_actions]
        withheld = 0
        if self._settings.loop_guard == "withhold" and loops:
            offered = [action for action in game if action not in loops]
            walks = [action for action in added if action not in loops]
            if offered or walks:
                withheld = len(game) + len(added) - len(offered) - len(walks)
                game, added = offered, walks
        offer = Offer(tuple(game), tuple(added)).first(self._settings.max_actions)
        return (offer if offer.actions else Offer(("look",))), withheld

    def _action_room(self) -> int:
        """Tokens kept free for the examples and the list of actions that follow the plan."""
        shown = EXAMPLE_TOKENS * self._settings.examples + 12 * self._settings.max_actions
        return min(self._ask.context_tokens // 4, shown)
