"""An environment in a process of its own: a crash or a hang there costs a restart, not the run.

Interpreters of games are foreign C code: some inputs crash them, some make them hang, and what
they leak stays in their process.
"""

from __future__ import annotations

from typing import Any

from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.envs.process_child import Child, CrashedError, Make, Say
from arigraph_local.errors import GameError

START_SECONDS = 120.0
"""Time to start in: a few seconds' work, but a sweep starts many at once."""
STEP_SECONDS = 60.0


class ProcessEnvironment:
    """The environment that `make` makes, in a child process. `make` must be picklable, and
    importable there: not a function of the script that is running.

    When the child dies or takes longer than `seconds` for a command, it is started again, the
    commands since the last reset are repeated, `say` is told in one line, and the command is sent
    once more; `restarts` counts this. Raises `GameError` when it fails a second time at the same
    command, or when the repeated commands do not lead to the same observation.
    `own_folder` gives every child an empty working folder that goes with it.

    To be used by one thread at a time. A child ends with its parent, whatever that dies of.
    """

    def __init__(
        self,
        make: Make,
        *,
        say: Say = lambda _: None,
        seconds: float = STEP_SECONDS,
        own_folder: bool = False,
    ) -> None:
        self._make = make
        self._say = say
        self._seconds = seconds
        self._own_folder = own_folder
        self._commands: list[str] = []
        self._last: Observation | None = None
        self._child: Child | None = None
        self.restarts = 0
        self._goal = self._start()

    @property
    def goal(self) -> str:
        """What the player is asked to achieve."""
        return self._goal

    @property
    def process_id(self) -> int | None:
        """Of the child, for those who measure it; None once closed."""
        return self._child.process_id if self._child is not None else None

    def reset(self) -> Observation:
        """Start over and return the first observation."""
        # If the game crashes on the way to a new beginning, there is nothing to repeat.
        self._commands, self._last = [], None
        observation: Observation = self._asked("reset")
        self._last = observation
        return observation

    def step(self, command: str) -> Observation:
        """Send one command. Raises `GameError` as the environment does, or see the class."""
        observation: Observation = self._asked("step", command)
        self._commands.append(command)
        self._last = observation
        return observation

    def true_facts(self) -> frozenset[TrueFact]:
        """The whole true state of the game."""
        facts: frozenset[TrueFact] = self._asked("true_facts")
        return facts

    def close(self) -> None:
        """End the child. Closing twice is harmless."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _start(self) -> str:
        """Start a child and return its goal: the environment is made then."""
        self._child = Child(self._make, self._own_folder)
        try:
            return str(self._child.ask("goal", (), START_SECONDS))
        except CrashedError as crash:
            self.close()
            raise GameError(f"the game cannot be started: {crash}") from crash
        except BaseException:
            self.close()
            raise

    def _asked(self, method: str, *arguments: str) -> Any:
        if self._child is None:
            raise GameError("the game has been closed")
        try:
            return self._child.ask(method, arguments, self._seconds)
        except CrashedError as crash:
            child = self._restart(crash)
        try:
            return child.ask(method, arguments, self._seconds)
        except CrashedError as crash:
            what = " ".join((method, *(repr(argument)[:100] for argument in arguments)))
            raise GameError(f"the game crashed twice at {what}: {crash}") from crash

    def _restart(self, crash: CrashedError) -> Child:
        self.close()
        self._start()
        assert self._child is not None
        self.restarts += 1
        self._say(
            f"the game crashed ({crash}): started again, {len(self._commands)} commands repeated"
        )
        if self._last is not None:
            self._repeat(self._child, self._last)
        return self._child

    def _repeat(self, child: Child, last: Observation) -> None:
        """Lead a new child to where the old one was, or fail."""
        try:
            observation = child.ask("reset", (), self._seconds)
            for command in self._commands:
                observation = child.ask("step", (command,), self._seconds)
        except CrashedError as again:
            raise GameError(f"the game crashed while it was started again: {again}") from again
        if observation != last:
            # A later step must not go on from there as if nothing had happened.
            self.close()
            raise GameError("the game crashed and went another way when it was started again")
