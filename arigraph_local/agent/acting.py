"""Acting: a rationale, then one of the valid actions (ReAct, paper section 3)."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.agent.asking import Asker
from arigraph_local.agent.examples import ActingExample
from arigraph_local.agent.settings import AgentSettings
from arigraph_local.errors import ContextOverflowError
from arigraph_local.llm.engine import Completion, Likelihood, Message
from arigraph_local.llm.prompts import PromptSet

ACT_TOKENS = 120


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    rationale: str
    action: str | int


@dataclass(frozen=True)
class Choice:
    """An action and why; `fallback` when the reply was cut off and chance had to choose."""

    action: str
    rationale: str
    fallback: bool = False


@dataclass(frozen=True)
class Offer:
    """What can be done: actions of the game, and those that the map adds, best first."""

    game: tuple[str, ...]
    map: tuple[str, ...] = ()

    @property
    def actions(self) -> tuple[str, ...]:
        """All of them, in the order in which they are shown."""
        return (*self.game, *self.map)

    def first(self, count: int) -> Offer:
        """The first `count` of them, the game's before those of the map."""
        return Offer(self.game[:count], self.map[: max(0, count - len(self.game))])


class Actor:
    """Asks for one of the actions on offer."""

    def __init__(self, ask: Asker, prompts: PromptSet, settings: AgentSettings) -> None:
        self._ask = ask
        self._prompts = prompts
        self._settings = settings

    def choose(
        self,
        messages: Sequence[Message],
        offer: Offer,
        step: int,
        examples: Sequence[ActingExample] = (),
    ) -> tuple[Choice, list[Completion], int]:
        """A choice, the calls it took, and how many actions did not fit in the context. Examples
        give way to actions.
        """
        shown = offer
        while True:
            try:
                completions = self._asked(messages, shown, step, examples)
                break
            except ContextOverflowError:
                count = len(shown.actions)
                if examples:
                    examples = examples[1:]
                elif count == 1:
                    raise
                else:
                    shown = shown.first(-(-count * 3 // 4) - 1)
        if completions[0].likelihoods:
            per_token = self._settings.choose_by == "likelihood-per-token"
            choice = likeliest(completions[0].likelihoods, shown.actions, per_token=per_token)
        else:
            seed = self._ask.seed("act", step)
            choice = voted([parse_choice(one.text, shown.actions, seed) for one in completions])
        return choice, completions, len(offer.actions) - len(shown.actions)

    def _asked(
        self,
        messages: Sequence[Message],
        offer: Offer,
        step: int,
        examples: Sequence[ActingExample],
    ) -> list[Completion]:
        by_number = self._settings.choose_by == "number"
        turns = self._following(messages, offer, examples, by_number)
        if self._settings.choose_by.startswith("likelihood"):
            replies = [
                json.dumps({"action": action}, ensure_ascii=False) for action in offer.actions
            ]
            return [self._ask.likeliest("act", step, turns, replies)]
        grammar = self._prompts.grammar("act", actions=offer.actions, by_number=by_number)
        if self._settings.votes == 1:
            return [self._ask("act", step, turns, grammar, ACT_TOKENS)]
        return self._ask.samples(
            "act",
            step,
            turns,
            grammar,
            ACT_TOKENS,
            count=self._settings.votes,
            temperature=self._settings.vote_temperature,
        )

    def _following(
        self,
        messages: Sequence[Message],
        offer: Offer,
        examples: Sequence[ActingExample],
        by_number: bool,
    ) -> tuple[Message, ...]:
        """The question after a plan; without a plan, at the end of the same turn."""
        question = self._prompts.user(
            "act", actions=offer.game, ways=offer.map, by_number=by_number, examples=examples
        )
        *before, last = messages
        if last.role == "user":
            return (*before, Message("user", f"{last.content}\n{question}"))
        return (*messages, Message("user", question))


def likeliest(
    likelihoods: Sequence[Likelihood], actions: Sequence[str], *, per_token: bool
) -> Choice:
    """The action whose reply is the likeliest, of equals the first."""
    scores = [one.per_token if per_token else one.log_probability for one in likelihoods]
    return Choice(actions[scores.index(max(scores))], "")


def voted(choices: Sequence[Choice]) -> Choice:
    """The choice whose action was named most often, of equals the first; chance has no vote where
    anything was named."""
    named = [choice for choice in choices if not choice.fallback]
    if not named:
        return choices[0]
    votes = Counter(choice.action for choice in named)
    return max(named, key=lambda choice: votes[choice.action])


def parse_choice(reply: str, actions: Sequence[str], seed: int) -> Choice:
    """The choice of a reply, which names the action or its number, from 1. A reply that was cut
    off falls back to a seeded random action."""
    try:
        parsed = _Reply.model_validate_json(reply)
    except ValidationError:
        return Choice(random.Random(seed).choice(list(actions)), "", fallback=True)
    action = parsed.action
    if isinstance(action, int) and 1 <= action <= len(actions):
        return Choice(actions[action - 1], parsed.rationale)
    if isinstance(action, str) and action in actions:
        return Choice(action, parsed.rationale)
    return Choice(random.Random(seed).choice(list(actions)), parsed.rationale, fallback=True)
