"""Acting: a rationale, then one of the valid actions (ReAct, paper section 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from arigraph_local.agent.asking import Asker
from arigraph_local.errors import ContextOverflowError
from arigraph_local.llm.engine import Completion, Message
from arigraph_local.llm.prompts import PromptSet

ACT_TOKENS = 120


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rationale: str
    action: str


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

    def __init__(self, ask: Asker, prompts: PromptSet) -> None:
        self._ask = ask
        self._prompts = prompts

    def choose(
        self, messages: Sequence[Message], offer: Offer, step: int
    ) -> tuple[Choice, Completion, int]:
        """A choice, the call it took, and how many actions did not fit in the context."""
        shown = offer
        while True:
            try:
                completion = self._ask(
                    "act",
                    step,
                    self._following(messages, shown),
                    self._prompts.grammar("act", actions=shown.actions),
                    ACT_TOKENS,
                )
                break
            except ContextOverflowError:
                count = len(shown.actions)
                if count == 1:
                    raise
                shown = shown.first(-(-count * 3 // 4) - 1)
        choice = parse_choice(completion.text, shown.actions, self._ask.seed("act", step))
        return choice, completion, len(offer.actions) - len(shown.actions)

    def _following(self, messages: Sequence[Message], offer: Offer) -> tuple[Message, ...]:
        """The question after a plan; without a plan, at the end of the same turn."""
        question = self._prompts.user("act", actions=offer.game, ways=offer.map)
        *before, last = messages
        if last.role == "user":
            return (*before, Message("user", f"{last.content}\n{question}"))
        return (*messages, Message("user", question))


def parse_choice(reply: str, actions: Sequence[str], seed: int) -> Choice:
    """The choice of a reply. A reply that was cut off falls back to a seeded random action."""
    try:
        parsed = _Reply.model_validate_json(reply)
    except ValidationError:
        return Choice(random.Random(seed).choice(list(actions)), "", fallback=True)
    if parsed.action not in actions:
        return Choice(random.Random(seed).choice(list(actions)), parsed.rationale, fallback=True)
    return Choice(parsed.action, parsed.rationale)
