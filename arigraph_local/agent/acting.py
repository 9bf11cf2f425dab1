"""Acting: a rationale, then one of the valid actions (ReAct, paper section 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError


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


def parse_choice(reply: str, actions: Sequence[str], seed: int) -> Choice:
    """The choice of a reply. A reply that was cut off falls back to a seeded random action."""
    try:
        parsed = _Reply.model_validate_json(reply)
    except ValidationError:
        return Choice(random.Random(seed).choice(list(actions)), "", fallback=True)
    if parsed.action not in actions:
        return Choice(random.Random(seed).choice(list(actions)), parsed.rationale, fallback=True)
    return Choice(parsed.action, parsed.rationale)
