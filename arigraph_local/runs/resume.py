"""Going on with a run: the game replayed and the player rebuilt from the log."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.episode import Player, Position, passage_between
from arigraph_local.envs.environment import Environment
from arigraph_local.errors import RunError
from arigraph_local.events import Acted, Event, Observed
from arigraph_local.memory.arigraph import AriGraph


def replay(
    events: Sequence[Event], environment: Environment, memory: AriGraph | None, player: Player
) -> tuple[Position, int]:
    """Bring a fresh game and player to where the logged steps ended, as the memory's graph is.

    Returns the position and the number of the next step. Raises `RunError` if the game no longer
    gives what it gave when the run was logged.
    """
    position = Position(environment.reset())
    step = 0
    for event in events:
        player.recall(event, position.observation)
        if isinstance(event, Observed):
            _check_same(event, position)
            if memory is not None:
                memory.visited(position.observation.location, position.passage)
        elif isinstance(event, Acted):
            before = position.observation
            position = _act(environment, memory, position, event)
            player.remember(event.step, before, event.action, position.observation)
            step = event.step
    return position, step + 1


def _check_same(event: Observed, position: Position) -> None:
    text = position.observation.text
    if event.text != text or event.score != position.observation.score:
        raise RunError(
            f"cannot resume: at step {event.step} the game gives "
            f"{text[:80]!r}, the log has {event.text[:80]!r}"
        )


def _act(
    environment: Environment, memory: AriGraph | None, position: Position, event: Acted
) -> Position:
    now, passage = position.observation, None
    for command in event.commands:
        before, now = now, environment.step(command)
        passage = passage_between(before, command, now)
        if memory is not None:
            memory.visited(now.location, passage)
    return Position(now, event.action, passage, event.note)
