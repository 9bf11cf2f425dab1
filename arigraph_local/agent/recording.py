"""Turning what the agent did into the events of the run's log."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.long_term_memory import Emit, Recollection
from arigraph_local.envs.environment import Observation
from arigraph_local.events import (
    Dropped,
    EventTime,
    FactRecord,
    FoundEpisodeRecord,
    FoundFactRecord,
    MemoryUpdated,
    MergedRecord,
    ModelCalled,
    Observed,
    Recalled,
    RejectedRecord,
    RetiredRecord,
    Retrieved,
    TripletRecord,
)
from arigraph_local.memory.arigraph import MemoryUpdate, Retrieval
from arigraph_local.memory.learning.observing import ModelCall
from arigraph_local.memory.search.semantic_search import Query
from arigraph_local.memory.triplet import Triplet


def _record(triplet: Triplet) -> TripletRecord:
    return (triplet.subject, triplet.relation, triplet.object)


def observed(step: int, observation: Observation) -> Observed:
    """The game as the player sees it."""
    return Observed(
        step=step,
        text=observation.text,
        inventory=observation.inventory,
        location=observation.location,
        valid_actions=observation.valid_actions,
        score=observation.score,
        done=observation.done,
    )


def called(step: int, call: ModelCall) -> ModelCalled:
    completion = call.completion
    return ModelCalled(
        step=step,
        time=EventTime(at=0.0, seconds=completion.seconds),
        task=call.task,
        prompt=completion.prompt,
        reply=completion.text,
        computed=completion.tokens.computed,
        reused=completion.tokens.reused,
        generated=completion.tokens.generated,
        stop=completion.stop.value,
        reasoning=completion.reasoning,
        cached=completion.cached,
    )


def emit_update(emit: Emit, update: MemoryUpdate, facts: int) -> None:
    """The memory's model calls and what they did to the graph, which now holds `facts` facts."""
    step = update.step
    for call in update.calls:
        emit(called(step, call))
    if update.dropped:
        emit(Dropped(step=step, task="memory", items=update.dropped))
    emit(
        MemoryUpdated(
            step=step,
            text=update.text,
            learned=tuple(_record(triplet) for triplet in update.learned),
            added=tuple(
                FactRecord(id=fact.id, triplet=_record(fact.triplet)) for fact in update.added
            ),
            retired=tuple(
                RetiredRecord(
                    id=pair.fact.id,
                    triplet=_record(pair.fact.triplet),
                    replacement=_record(pair.replacement),
                    reason=pair.reason,
                )
                for pair in update.retired
            ),
            rejected=tuple(
                RejectedRecord(text=item.text, reason=item.reason) for item in update.rejected
            ),
            guarded=update.guarded,
            merged=tuple(
                MergedRecord(
                    alias=item.alias,
                    name=item.name,
                    similarity=round(item.similarity, 6),
                    ratio=round(item.ratio, 6),
                )
                for item in update.merged
            ),
            wordings=tuple(
                (_record(triplet), _record(worded)) for triplet, worded in update.wordings.items()
            ),
            facts=facts,
        )
    )


def emit_recalled(emit: Emit, step: int, found: Recollection) -> None:
    """What a memory brought to mind."""
    sections = tuple((part.heading, part.items) for part in found.sections)
    emit(Recalled(step=step, sections=sections, turns=len(found.turns)))


def emit_retrieval(emit: Emit, step: int, queries: Sequence[Query], retrieval: Retrieval) -> None:
    """What the search over the graph returned for a step."""
    emit(
        Retrieved(
            step=step,
            queries=tuple((query.text, query.depth) for query in queries),
            facts=tuple(
                FoundFactRecord(
                    id=found.fact.id,
                    triplet=_record(found.fact.triplet),
                    score=round(found.score, 6),
                    depth=found.depth,
                    query=found.query,
                )
                for found in retrieval.facts
            ),
            episodes=tuple(
                FoundEpisodeRecord(step=found.episode.step, score=round(found.score, 6))
                for found in retrieval.episodes
            ),
        )
    )
