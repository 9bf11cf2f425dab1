"""What the model's replies cost, by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from arigraph_local.llm.engine import TokenCounts


@dataclass(frozen=True)
class Cost:
    """Calls, tokens and wall-clock seconds of one task, or of all.

    `cached` counts the calls that a response cache answered.
    """

    calls: int = 0
    tokens: TokenCounts = field(default_factory=TokenCounts)
    seconds: float = 0.0
    cached: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.seconds + other.seconds,
            self.cached + other.cached,
        )

    @property
    def tokens_per_second(self) -> float:
        """Generated tokens by second, prompt computing included in the time; 0 before any."""
        return self.tokens.generated / self.seconds if self.seconds > 0 else 0.0


class Ledger:
    """Adds up the cost of replies."""

    def __init__(self) -> None:
        self._tasks: dict[str, Cost] = {}

    def add(self, task: str, tokens: TokenCounts, seconds: float, *, cached: bool = False) -> None:
        """Book one reply under its task."""
        cost = Cost(1, tokens, seconds, int(cached))
        self._tasks[task] = self._tasks.get(task, Cost()) + cost

    @property
    def tasks(self) -> Mapping[str, Cost]:
        """The cost of each task, in the order they first appeared."""
        return MappingProxyType(self._tasks)

    @property
    def total(self) -> Cost:
        """The cost of everything booked."""
        return sum(self._tasks.values(), Cost())
