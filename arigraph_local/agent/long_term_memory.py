"""What the agent asks of its long-term memory, whatever kind it is.

AriGraph and the memories it is compared with stand behind this one protocol, so that another
memory changes what is recalled and nothing else of the agent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from arigraph_local.events import Event
from arigraph_local.llm.engine import Message
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialMap

Emit = Callable[[Event], None]


@dataclass(frozen=True)
class Experience:
    """One observation and what led to it; what a memory learns from.

    `action` was done on the observation before, None at the start; `passage` is the move that it
    was.
    """

    step: int
    text: str
    inventory: str = ""
    action: str | None = None
    location: str | None = None
    passage: Passage | None = None


@dataclass(frozen=True)
class Look:
    """A text to search a memory for; `depth` is how far to follow what is found, None: as the
    memory is set."""

    text: str
    depth: int | None = None


@dataclass(frozen=True)
class Cue:
    """The situation that a memory is asked about.

    `looks` are the texts to search for, the first the most general. Observations of
    `shown_steps` are in the prompt already. `tokens` is how much the recollection may take.
    """

    step: int
    looks: tuple[Look, ...]
    shown_steps: frozenset[int]
    tokens: int = 1 << 20


@dataclass(frozen=True)
class Section:
    """A part of the prompt's memory: items under a heading, the best first."""

    heading: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Recollection:
    """What a memory brings to mind: sections, the most important first, and whole turns of the
    conversation, the oldest first, that precede the current one."""

    sections: tuple[Section, ...] = ()
    turns: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Ending:
    """How an episode ended, and the points it came to; `max_score` 0: the game has no highest."""

    reason: str
    score: int
    max_score: int


class LongTermMemory(Protocol):
    """The memory of one episode. Subclasses need `observe`, `recall` and `resume`.

    What it does is told to `emit` as events; they are all that a resumed run has of it.
    """

    @abstractmethod
    def observe(self, experience: Experience, emit: Emit) -> None:
        """Learn from an observation; called once a step, before `recall`."""
        ...

    @abstractmethod
    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        """What matters to the situation."""
        ...

    @abstractmethod
    def resume(self, experience: Experience, event: Event) -> None:
        """Take up an event that it emitted when the step of `experience` was played, without a
        model. Events of others are passed over."""
        ...

    def finish(self, experience: Experience, ending: Ending, emit: Emit) -> None:
        """Take the last observation and the end of the episode; nothing is recalled after."""
        return

    def visited(self, location: str | None, passage: Passage | None) -> None:
        """Note where the player stands and the move that led there, on a walk of several moves
        too."""
        return

    def map(self) -> SpatialMap | None:
        """The map that the memory draws of the world; None for one that draws none."""
        return None

    def close(self) -> None:
        """Free what is held. Closing twice is harmless."""
        return
