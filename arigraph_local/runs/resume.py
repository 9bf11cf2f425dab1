"""Going on with a run: the game replayed and the agent rebuilt from the log."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.ariadne import Ariadne
from arigraph_local.agent.episode import Position, passage_between
from arigraph_local.agent.plan import Plan
from arigraph_local.envs.environment import Environment
from arigraph_local.errors import RunError
from arigraph_local.events import Acted, Event, Observed, Planned
from arigraph_local.memory.arigraph import AriGraph


def replay(
    events: Sequence[Event], environment: Environment, memory: AriGraph, agent: Ariadne
) -> tuple[Position, int]:
    """Bring a fresh game and agent to where the logged steps ended, as the memory's graph is.

    Returns the position and the number of the next step. Raises `RunError` if the game no longer
    gives what it gave when the run was logged.
    """
    position = Position(environment.reset())
    step = 0
    for event in events:
        if isinstance(event, Observed):
            text = position.observation.text
            if event.text != text or event.score != position.observation.score:
                raise RunError(
                    f"cannot resume: at step {event.step} the game gives "
                    f"{text[:80]!r}, the log has {event.text[:80]!r}"
                )
            memory.visited(position.observation.location, position.passage)
        elif isinstance(event, Planned):
            agent.plan = Plan.model_validate(event.plan)
        elif isinstance(event, Acted):
            before = position.observation
            position = _act(environment, memory, position, event)
            agent.remember(event.step, before, event.action, position.observation)
            step = event.step
    return position, step + 1


def _act(environment: Environment, memory: AriGraph, position: Position, event: Acted) -> Position:
    now, passage = position.observation, None
    for command in event.commands:
        before, now = now, environment.step(command)
        passage = passage_between(before, command, now)
        memory.visited(now.location, passage)
    return Position(now, event.action, passage, event.note)
