"""Working memory: what the agent holds in mind for one decision (paper section 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from arigraph_local.agent.long_term_memory import Recollection, Section
from arigraph_local.agent.plan import Plan


@dataclass(frozen=True)
class PastStep:
    """An earlier observation and the action taken on it."""

    step: int
    observation: str
    action: str


@dataclass(frozen=True)
class WorkingMemory:
    """Everything the planning prompt is made of, apart from the goal.

    `history` is oldest first. `stale` says how many steps the next sub-goal has been without
    progress, 0 if that is not worth a word. `notes` tell what was unexpected.
    """

    step: int
    observation: str
    inventory: str
    location: str | None
    recollection: Recollection
    history: tuple[PastStep, ...]
    exits: tuple[str, ...]
    plan: Plan
    stale: int = 0
    notes: tuple[str, ...] = ()

    def prompt_values(self) -> dict[str, Any]:
        """The variables of the `plan` template."""
        return {
            "step": self.step,
            "observation": self.observation,
            "inventory": self.inventory,
            "location": self.location,
            "memory": [section for section in self.recollection.sections if section.items],
            "history": [
                {
                    "step": past.step,
                    "observation": one_line(past.observation),
                    "action": past.action,
                }
                for past in self.history
            ],
            "exits": self.exits,
            "plan": self.plan.sub_goals,
            "stale": self.stale,
            "notes": self.notes,
        }


def fit(
    memory: WorkingMemory, fits: Callable[[WorkingMemory], bool]
) -> tuple[WorkingMemory, dict[str, int]]:
    """Drop whole items until `fits`: the oldest turns that the memory recalled, then the oldest
    history, then items of its sections, the last section's first, its lowest-ranked first.

    Returns what is left and how much of each kind was dropped; when nothing is left to drop, the
    result may still not fit.
    """
    dropped: dict[str, int] = {}
    while not fits(memory):
        smaller = _smaller(memory)
        if smaller is None:
            break
        memory, kind = smaller
        dropped[kind] = dropped.get(kind, 0) + 1
    return memory, dropped


def _smaller(memory: WorkingMemory) -> tuple[WorkingMemory, str] | None:
    recalled = memory.recollection
    if recalled.turns:
        # A question and its answer go together, so that the turns still alternate.
        return replace(memory, recollection=replace(recalled, turns=recalled.turns[2:])), "turns"
    if memory.history:
        return replace(memory, history=memory.history[1:]), "history"
    for index in reversed(range(len(recalled.sections))):
        section = recalled.sections[index]
        if section.items:
            sections = list(recalled.sections)
            sections[index] = Section(section.heading, section.items[:-1])
            cut = replace(recalled, sections=tuple(sections))
            return replace(memory, recollection=cut), section.heading.lower()
    return None


def one_line(text: str) -> str:
    """A text with its line breaks and runs of spaces as single spaces."""
    return " ".join(text.split())
