"""The typed, versioned records of a run: one JSON object a line in `events.jsonl`.

Everything that depends on the clock sits in the field `time`, so that two runs of the same
configuration are equal byte for byte once that field is left out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

SCHEMA_VERSION: Literal[1] = 1

TripletRecord = tuple[str, str, str]


class EventTime(BaseModel):
    """When an event was written (seconds since the epoch) and how long its work took."""

    model_config = ConfigDict(extra="forbid")

    at: float
    seconds: float | None = None


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = SCHEMA_VERSION
    step: int
    time: EventTime | None = None


class RunStarted(_Event):
    """The first line: what runs, on what, with which versions.

    `model` and `embedder` are `none` where the player needs neither.
    """

    kind: Literal["run_started"] = "run_started"
    game: str
    game_digest: str
    goal: str
    max_score: int
    player: str = "ariadne"
    memory: str = "arigraph"
    ablations: tuple[str, ...] = ()
    model: str
    embedder: str
    seed: int
    mode: Literal["reproducible", "throughput"]
    versions: dict[str, str]


class Observed(_Event):
    """The game as the player sees it at the start of a step."""

    kind: Literal["observation"] = "observation"
    text: str
    inventory: str
    location: str | None
    valid_actions: tuple[str, ...]
    score: int
    done: bool


class ModelCalled(_Event):
    """One prompt as sent and one reply as received, with its tokens and why it ended.

    `reasoning` is what the model thought before it; a `cached` reply was not computed again.
    """

    kind: Literal["model_call"] = "model_call"
    task: str
    prompt: str
    reply: str
    computed: int
    reused: int
    generated: int
    stop: str
    reasoning: str = ""
    cached: bool = False


class FactRecord(BaseModel):
    """A fact by its id in the graph."""

    model_config = ConfigDict(extra="forbid")

    id: int
    triplet: TripletRecord


class RetiredRecord(FactRecord):
    """A fact that stopped being current: what replaced it and why."""

    replacement: TripletRecord
    reason: str


class RejectedRecord(BaseModel):
    """Something the model proposed that was not taken over, and the rule that refused it."""

    model_config = ConfigDict(extra="forbid")

    text: str
    reason: str


class MergedRecord(BaseModel):
    """A new name taken for a known entity from this step on, and how alike the two are."""

    model_config = ConfigDict(extra="forbid")

    alias: str
    name: str
    similarity: float
    ratio: float


class MemoryUpdated(_Event):
    """What one observation did to the graph.

    `text`, `learned`, `retired` and `wordings` rebuild it. `wordings` pairs a learned triplet
    with what was extracted, where merging entities changed it.
    """

    kind: Literal["memory_updated"] = "memory_updated"
    text: str
    learned: tuple[TripletRecord, ...]
    added: tuple[FactRecord, ...]
    retired: tuple[RetiredRecord, ...]
    rejected: tuple[RejectedRecord, ...]
    guarded: dict[str, int]
    facts: int
    merged: tuple[MergedRecord, ...] = ()
    wordings: tuple[tuple[TripletRecord, TripletRecord], ...] = ()


class FoundFactRecord(FactRecord):
    """A retrieved fact: its similarity, the hop at which it was found, the query that found it."""

    score: float
    depth: int
    query: str


class FoundEpisodeRecord(BaseModel):
    """A retrieved episode and its relevance (Eq. 1)."""

    model_config = ConfigDict(extra="forbid")

    step: int
    score: float


class Retrieved(_Event):
    """What the search over the graph returned for this step."""

    kind: Literal["retrieval"] = "retrieval"
    queries: tuple[tuple[str, int], ...]
    facts: tuple[FoundFactRecord, ...]
    episodes: tuple[FoundEpisodeRecord, ...]


class MemoryLearned(_Event):
    """What a memory other than AriGraph made of an observation; it is taken up again from this."""

    kind: Literal["memory_learned"] = "memory_learned"
    record: dict[str, Any]


class Recalled(_Event):
    """What a memory other than AriGraph brought to mind: items by heading, turns of the past."""

    kind: Literal["recalled"] = "recalled"
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    turns: int


class Planned(_Event):
    """The plan after this step's revision; `kept` when the reply was cut off and the old stays."""

    kind: Literal["plan"] = "plan"
    plan: dict[str, Any]
    kept: bool


class Dropped(_Event):
    """Items left out of a prompt: so that it fits in the context, or by the loop guard."""

    kind: Literal["dropped"] = "dropped"
    task: str
    items: dict[str, int]


class Acted(_Event):
    """The chosen action, the commands it became, and what the game gave for it.

    `doubted` is the passage (room, direction, room) that a walk did not find as the map had it.
    The step is complete with this event.
    """

    kind: Literal["action"] = "action"
    rationale: str
    action: str
    commands: tuple[str, ...]
    fallback: bool
    note: str
    reward: int
    score: int
    done: bool
    doubted: TripletRecord | None = None


class LoopNoticed(_Event):
    """Actions done over and over in this situation without anything new, told to the model."""

    kind: Literal["loop"] = "loop"
    actions: tuple[str, ...]


class GameRestarted(_Event):
    """The game crashed and was started again, with the commands so far, by no one's choice.

    It is no part of a run's story: the same run on a machine where nothing crashes has none.
    """

    kind: Literal["game_restarted"] = "game_restarted"
    reason: str


class Interrupted(_Event):
    """The run stopped before its end; it can be resumed from here."""

    kind: Literal["interrupted"] = "interrupted"
    reason: str


class Finished(_Event):
    """The last line of a finished run.

    `nothing_left`: the player saw nothing more to do. `steps` counts the actions.
    """

    kind: Literal["run_finished"] = "run_finished"
    reason: Literal["won", "lost", "step_limit", "nothing_left"]
    score: int
    steps: int


Event = Annotated[
    RunStarted
    | Observed
    | ModelCalled
    | MemoryUpdated
    | Retrieved
    | MemoryLearned
    | Recalled
    | Planned
    | Dropped
    | Acted
    | LoopNoticed
    | GameRestarted
    | Interrupted
    | Finished,
    Field(discriminator="kind"),
]

_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def parse_event(line: str | bytes) -> Event:
    """The event of one line. Raises `pydantic.ValidationError` on anything else."""
    return _ADAPTER.validate_json(line)
