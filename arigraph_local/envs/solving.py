"""The walkthrough of a generated game: what its oracle does."""

from __future__ import annotations

from arigraph_local.envs.environment import Environment
from arigraph_local.envs.family import Oracle
from arigraph_local.errors import GameError

LONGEST_WALKTHROUGH = 0.8
"""Part of the step limit that a solution may take: the agent has yet to explore."""


def solution(environment: Environment, oracle: Oracle, step_limit: int) -> tuple[str, ...]:
    """The oracle's commands from the start until nothing is left to gain.

    Raises `GameError` if they take more than `LONGEST_WALKTHROUGH` of the step limit.
    """
    most = int(step_limit * LONGEST_WALKTHROUGH)
    commands: list[str] = []
    observation = environment.reset()
    while (action := oracle.next_action(environment.true_facts(), observation)) is not None:
        if len(commands) == most:
            raise GameError(f"the game cannot be won in {most} of its {step_limit} steps")
        commands.append(action)
        observation = environment.step(action)
    return tuple(commands)
