"""Going on with a run: the game replayed and the player rebuilt from the log."""

from __future__ import annotations

from collections.abc import Sequence

from arigraph_local.agent.episode import Player, Position
from arigraph_local.agent.long_term_memory import LongTermMemory
from arigraph_local.agent.navigation import Navigator, passage_between
from arigraph_local.envs.environment import Environment
from arigraph_local.errors import RunError
from arigraph_local.events import Acted, Event, Observed
from arigraph_local.memory.spatial.spatial_map import Passage


def replay(
    events: Sequence[Event],
    environment: Environment,
    memory: LongTermMemory | None,
    navigator: Navigator,
    player: Player,
) -> tuple[Position, int]:
    """Bring a fresh game and player to where the logged steps ended, as the memory's graph is.

    Returns the position and the number of the next step. Raises `RunError` if the game no longer
    gives what it gave when the run was logged.
    """
    position = Position(environment.reset())
    step = 0
    for event in events:
        player.recall(event, position.observation)
        if memory is not None:
            memory.resume(position.experience(event.step), event)
        if isinstance(event, Observed):
            _check_same(event, position)
            navigator.visited(position.observation, position.passage)
        elif isinstance(event, Acted):
            before = position.observation
            position = _act(environment, navigator, position, event)
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
    environment: Environment, navigator: Navigator, position: Position, event: Acted
) -> Position:
    now, passage = position.observation, None
    for command in event.commands:
        before, now = now, environment.step(command)
        passage = passage_between(before, command, now)
        navigator.visited(now, passage)
    if event.doubted is not None:
        navigator.doubt(Passage(*event.doubted))
    return Position(now, event.action, passage, event.note)
