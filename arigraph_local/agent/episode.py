"""The episode loop: observe, learn, decide, act; every part of it told to `emit` as an event."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import astuple, dataclass
from typing import Literal, Protocol

from arigraph_local.agent.acting import Choice
from arigraph_local.agent.long_term_memory import Emit, Ending, Experience, LongTermMemory
from arigraph_local.agent.navigation import Navigator, passage_between
from arigraph_local.agent.recording import observed
from arigraph_local.envs.environment import Environment, Observation
from arigraph_local.events import Acted, Event, Finished
from arigraph_local.memory.spatial.spatial_map import Passage


@dataclass(frozen=True)
class Position:
    """Where an episode stands before a step: the game's last word and how it got there."""

    observation: Observation
    action: str | None = None
    passage: Passage | None = None
    note: str = ""

    def experience(self, step: int) -> Experience:
        """What a memory learns from at the step that begins here."""
        return Experience(
            step=step,
            text=self.observation.text,
            inventory=self.observation.inventory,
            action=self.action,
            location=self.observation.location,
            passage=self.passage,
        )


@dataclass(frozen=True)
class Outcome:
    """What an action did in the game. `position` is where the next step begins; `doubted` the
    passage that a walk did not find."""

    commands: tuple[str, ...]
    reward: int
    position: Position
    doubted: Passage | None = None


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
    memory: LongTermMemory | None,
    navigator: Navigator,
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
        navigator.visited(observation, position.passage)
        if memory is not None:
            memory.observe(position.experience(step), emit)
        choice = player.decide(observation, step, position.note, emit)
        if choice is None:
            return _finish(memory, emit, step, position, "nothing_left")
        outcome = execute(environment, navigator, observation, choice.action)
        player.remember(step, observation, choice.action, outcome.position.observation)
        emit(_acted(step, choice, outcome))
        position = outcome.position
        step += 1
    emit(observed(step, position.observation))
    return _finish(memory, emit, step, position, "step_limit")


def execute(
    environment: Environment, navigator: Navigator, before: Observation, action: str
) -> Outcome:
    """Send an action to the game; one that the map adds, such as `go to ROOM`, as its moves.

    A walk stops where the world disagrees with the map, and the note says so.
    """
    route = navigator.route(action, before)
    if route is None:
        after = environment.step(action)
        passage = passage_between(before, action, after)
        return Outcome((action,), after.score - before.score, Position(after, action, passage))
    walk = navigator.walk(route, before, environment.step)
    note = ""
    if not walk.arrived:
        note = f"{action} ended in {walk.end.location}: the way is not as remembered."
    return Outcome(
        walk.commands,
        walk.end.score - before.score,
        Position(walk.end, action, walk.passage, note),
        walk.doubted,
    )


def _acted(step: int, choice: Choice, outcome: Outcome) -> Acted:
    after, doubted = outcome.position.observation, outcome.doubted
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
        doubted=None if doubted is None else astuple(doubted),
    )


def _finish(
    memory: LongTermMemory | None,
    emit: Emit,
    step: int,
    position: Position,
    otherwise: Literal["step_limit", "nothing_left"],
) -> Finished:
    """The end of the episode; `otherwise` is why, unless the game itself is over."""
    last = position.observation
    reason: Literal["won", "lost", "step_limit", "nothing_left"] = otherwise
    if last.done:
        reason = "won" if last.won else "lost"
    if memory is not None:
        memory.finish(position.experience(step), Ending(reason, last.score, last.max_score), emit)
    finished = Finished(step=step, reason=reason, score=last.score, steps=step - 1)
    emit(finished)
    return finished
