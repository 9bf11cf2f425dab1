"""The episode loop: observe, learn, decide, act; every part of it told to `emit` as an event."""

from __future__ import annotations

from dataclasses import dataclass

from arigraph_local.agent.ariadne import Ariadne, Decision
from arigraph_local.agent.exploring import GO_TO, route_of
from arigraph_local.agent.recording import Emit, emit_decision, emit_update, observed
from arigraph_local.envs.environment import Environment, Observation
from arigraph_local.events import Acted, Finished
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.spatial.spatial_map import Passage
from arigraph_local.memory.triplet import normalise


@dataclass(frozen=True)
class Position:
    """Where an episode stands before a step: the game's last word and how it got there."""

    observation: Observation
    action: str | None = None
    passage: Passage | None = None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What an action did in the game. `position` is where the next step begins."""

    commands: tuple[str, ...]
    reward: int
    position: Position


def play(
    environment: Environment,
    agent: Ariadne,
    memory: AriGraph,
    emit: Emit,
    *,
    steps: int,
    start: Position,
    first_step: int = 1,
) -> Finished:
    """Play until the game ends or `steps` agent steps are done, counted from 1."""
    position = start
    step = first_step
    while step <= steps and not position.observation.done:
        observation = position.observation
        emit(observed(step, observation))
        update = memory.update(
            observation.text,
            step=step,
            action=position.action,
            location=observation.location,
            passage=position.passage,
        )
        emit_update(emit, update, memory.store.current_count())
        decision = agent.decide(observation, step, position.note)
        emit_decision(emit, step, decision)
        outcome = execute(environment, memory, observation, decision.choice.action)
        after = outcome.position.observation
        agent.remember(step, observation, decision.choice.action, after)
        emit(_acted(step, decision, outcome))
        position = outcome.position
        step += 1
    emit(observed(step, position.observation))
    finished = _finished(step, position.observation)
    emit(finished)
    return finished


def execute(
    environment: Environment, memory: AriGraph, before: Observation, action: str
) -> Outcome:
    """Send an action to the game; `go to ROOM` as the moves of its route.

    A walk stops where the world disagrees with the graph, and the note says so.
    """
    graph = memory.map()
    route = route_of(action, graph, before.location and normalise(before.location))
    if route is None or action in before.valid_actions:
        return _one_command(environment, before, action)
    now, outcome, commands = before, None, []
    for direction in route:
        expected = graph.passage(normalise(now.location or ""), direction)
        outcome = _one_command(environment, now, f"go {direction}")
        commands.append(f"go {direction}")
        now = outcome.position.observation
        memory.visited(now.location, outcome.position.passage)
        if now.done or expected != normalise(now.location or ""):
            break
    if outcome is None:
        return _one_command(environment, before, action)
    arrived = normalise(now.location or "") == normalise(action.removeprefix(GO_TO))
    note = "" if arrived else f"{action} ended in {now.location}: the way is not as remembered."
    return Outcome(
        tuple(commands),
        now.score - before.score,
        Position(now, action, outcome.position.passage, note),
    )


def _one_command(environment: Environment, before: Observation, command: str) -> Outcome:
    after = environment.step(command)
    return Outcome(
        (command,),
        after.score - before.score,
        Position(after, command, passage_between(before, command, after)),
    )


def passage_between(before: Observation, command: str, after: Observation) -> Passage | None:
    """The passage that a `go DIRECTION` went through, if the room changed."""
    verb, _, direction = command.partition(" ")
    if verb != "go" or before.location is None or after.location is None:
        return None
    if before.location == after.location:
        return None
    return Passage(normalise(before.location), direction, normalise(after.location))


def _acted(step: int, decision: Decision, outcome: Outcome) -> Acted:
    after = outcome.position.observation
    return Acted(
        step=step,
        rationale=decision.choice.rationale,
        action=decision.choice.action,
        commands=outcome.commands,
        fallback=decision.choice.fallback,
        note=outcome.position.note,
        reward=outcome.reward,
        score=after.score,
        done=after.done,
    )


def _finished(step: int, observation: Observation) -> Finished:
    if observation.done:
        reason = "won" if observation.won else "lost"
        return Finished(step=step, reason=reason, score=observation.score, steps=step - 1)
    return Finished(step=step, reason="step_limit", score=observation.score, steps=step - 1)
