"""A world that counts its commands, and does what a broken interpreter does when told to."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.errors import GameError


class OddError(GameError):
    """An error that cannot be rebuilt from its arguments."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class UnrulyWorld:
    """`mishap@N` as a command happens when N more commands were given before; `once MARK mishap`
    happens while there is no file MARK, and makes it."""

    goal = "Count."

    def __init__(self, trouble: str = "") -> None:
        self.count = 0
        self.drift = 0
        if trouble:
            self._happen(trouble)

    def reset(self) -> Observation:
        self.count = 0
        return self._observe("Zero.")

    def step(self, command: str) -> Observation:
        self.count += 1
        first, _, rest = command.partition(" ")
        if first == "once":
            mark, _, mishap = rest.partition(" ")
            if Path(mark).exists():
                return self._observe("This time it went well.")
            Path(mark).touch()
            self._happen(mishap)
        elif first == "mark":
            # Tells a process that repeats the command from one that gives it first.
            text = "again" if Path(rest).exists() else "first"
            Path(rest).touch()
            return self._observe(text)
        else:
            self._happen(command)
        return self._observe(f"{self.count}: {command}")

    def true_facts(self) -> frozenset[TrueFact]:
        return frozenset({TrueFact("at", ("p", str(self.count)))})

    def close(self) -> None:
        """Nothing to free."""

    def _observe(self, text: str) -> Observation:
        return Observation(text, "", None, ("wait",), self.count, 0, False, False)

    def _happen(self, mishap: str) -> None:
        if mishap == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif mishap == "segfault":
            ctypes.string_at(0)
        elif mishap == "exit":
            sys.exit(3)
        elif mishap == "last words":
            print("Fatal error: stack overflow", file=sys.stderr)
            os._exit(1)
        elif mishap == "hang":
            time.sleep(3600)
        elif mishap == "print":
            print("noise")
            os.write(1, b"more noise\n")
        elif mishap == "raise":
            raise ValueError("no\nsuch luck")
        elif mishap == "game error":
            raise GameError("the story is torn")
        elif mishap == "odd error":
            raise OddError("odd", "error")
        elif mishap == "folder":
            (Path.cwd() / "left behind").write_text("x")
        elif mishap.startswith("variable "):
            raise GameError(os.environ.get(mishap.removeprefix("variable "), "unset"))


def make_unruly(trouble: str = "") -> UnrulyWorld:
    """A maker that a child process can import."""
    return UnrulyWorld(trouble)
