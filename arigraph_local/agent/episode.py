"""The episode loop: observe, learn, decide, act; every part of it told to `emit` as an event."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Protocol

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.exploring import GO_TO, route_of
from arigraph_local.agent.recording import Emit, emit_update, observed
from arigraph_local.envs.environment import Environment, Observation
from arigraph_local.events import Acted, Event, Finished
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


class Player(Protocol):
    """Chooses the actions of one episode. Subclasses need `decide` alone."""

    @abstractmethod
    def decide(self, observation: Observation, step: int, note: str, emit: Emit) -> Choice | None:
        """The action of this step, or None when nothing is left to do.

        `note` says what was unexpected about the last action. What the choice was made from can
        be told to `emit`. Raises `KeyboardInterrupt` when the player leaves.
        """
        ...

    def remember(self, step: int, before: Observation, action: str, after: Observation) -> None:
        """Take note of a finished step, whether it was played just now or is replayed."""
        return

    def recall(self, event: Event, observation: Observation) -> None:
        """Take note of a logged event while a run is replayed; `observation` is the game's last
        word before it."""
        return


def play(
    environment: Environment,
    player: Player,
    memory: AriGraph | None,
    emit: Emit,
    *,
    steps: int,
    start: Position,
    first_step: int = 1,
) -> Finished:
    """Play until the game ends, the player has nothing left to do, or `steps` steps are done,
    counted from 1. With a memory, every observation is learned before the player decides.
    """
    position = start
    step = first_step
    while step <= steps and not position.observation.done:
        observation = position.observation
        emit(observed(step, observation))
        if memory is not None:
            _learn(memory, step, position, emit)
        choice = player.decide(observation, step, position.note, emit)
        if choice is None:
            return _finish(emit, step, observation, "nothing_left")
        outcome = execute(environment, memory, observation, choice.action)
        player.remember(step, observation, choice.action, outcome.position.observation)
        emit(_acted(step, choice, outcome))
        position = outcome.position
        step += 1
    emit(observed(step, position.observation))
    return _finish(emit, step, position.observation, "step_limit")


def _learn(memory: AriGraph, step: int, position: Position, emit: Emit) -> None:
    observation = position.observation
    update = memory.update(
        observation.text,
        step=step,
        action=position.action,
        location=observation.location,
        passage=position.passage,
    )
    emit_update(emit, update, memory.store.current_count())


def execute(
    environment: Environment, memory: AriGraph | None, before: Observation, action: str
) -> Outcome:
    """Send an action to the game; `go to ROOM`, where a memory knows the way, as its moves.

    A walk stops where the world disagrees with the graph, and the note says so.
    """
    if memory is None:
        return _one_command(environment, before, action)
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


def _acted(step: int, choice: Choice, outcome: Outcome) -> Acted:
    after = outcome.position.observation
    return Acted(
        step=step,
        rationale=choice.rationale,
        action=choice.action,
        commands=outcome.commands,
        fallback=choice.fallback,
        note=outcome.position.note,
        reward=outcome.reward,
        score=after.score,
        done=after.done,
    )


def _finish(
    emit: Emit, step: int, last: Observation, otherwise: Literal["step_limit", "nothing_left"]
) -> Finished:
    """The end of the episode; `otherwise` is why, unless the game itself is over."""
    reason: Literal["won", "lost", "step_limit", "nothing_left"] = otherwise
    if last.done:
        reason = "won" if last.won else "lost"
    finished = Finished(step=step, reason=reason, score=last.score, steps=step - 1)
    emit(finished)
    return finished
