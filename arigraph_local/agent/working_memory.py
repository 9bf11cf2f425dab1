"""Working memory: what the agent holds in mind for one decision (paper section 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from arigraph_local.agent.plan import Plan
from arigraph_local.memory.search.episodic_search import FoundEpisode
from arigraph_local.memory.search.semantic_search import FoundFact


@dataclass(frozen=True)
class PastStep:
    """An earlier observation and the action taken on it."""

    step: int
    observation: str
    action: str


@dataclass(frozen=True)
class WorkingMemory:
    """Everything the planning prompt is made of, apart from the goal.

    `facts` and `episodes` are ranked, the best first; `history` is oldest first.
    """

    step: int
    observation: str
    inventory: str
    location: str | None
    facts: tuple[FoundFact, ...]
    episodes: tuple[FoundEpisode, ...]
    history: tuple[PastStep, ...]
    exits: tuple[str, ...]
    plan: Plan
    note: str = ""

    def prompt_values(self) -> dict[str, Any]:
        """The variables of the `plan` template."""
        return {
            "step": self.step,
            "observation": self.observation,
            "inventory": self.inventory,
            "location": self.location,
            "facts": [found.fact.triplet for found in self.facts],
            "episodes": [
                {"step": found.episode.step, "text": _one_line(found.episode.text)}
                for found in self.episodes
            ],
            "history": [
                {
                    "step": past.step,
                    "observation": _one_line(past.observation),
                    "action": past.action,
                }
                for past in self.history
            ],
            "exits": self.exits,
            "plan": self.plan.sub_goals,
            "note": self.note,
        }


def fit(
    memory: WorkingMemory, fits: Callable[[WorkingMemory], bool]
) -> tuple[WorkingMemory, dict[str, int]]:
    """Drop whole items until `fits`: the oldest history, then the lowest-ranked episodes, then
    the lowest-ranked triplets. Returns what is left and how much of each kind was dropped; when
    nothing is left to drop, the result may still not fit.
    """
    dropped: dict[str, int] = {}
    while not fits(memory):
        if memory.history:
            memory, kind = replace(memory, history=memory.history[1:]), "history"
        elif memory.episodes:
            memory, kind = replace(memory, episodes=memory.episodes[:-1]), "episodes"
        elif memory.facts:
            memory, kind = replace(memory, facts=memory.facts[:-1]), "facts"
        else:
            break
        dropped[kind] = dropped.get(kind, 0) + 1
    return memory, dropped


def _one_line(text: str) -> str:
    return " ".join(text.split())
