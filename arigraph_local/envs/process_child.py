"""The child process of a `ProcessEnvironment`, and the pipe to it.

It is started with the interpreter's own command line and told what to make by a pickled callable,
so a script that opens a game needs no `if __name__ == "__main__"`, and nothing that the parent
holds (threads, locks, models) is copied into it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, TypeAlias

from arigraph_local.envs.environment import Environment
from arigraph_local.errors import GameError

Say: TypeAlias = Callable[[str], None]
Make: TypeAlias = Callable[[], Environment]

_SECONDS_TO_END = 0.5
_LAST_WORDS = 2000


class CrashedError(Exception):
    """The child is gone, or does not answer."""


class Child:
    """A process that serves the environment which `make` makes.

    What it prints goes to a file that is shown, its last line, if it dies. Raises `GameError` if
    `make` cannot be sent or no process can be started.
    """

    def __init__(self, make: Make, own_folder: bool) -> None:
        try:
            message = pickle.dumps(make)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise GameError(f"the game cannot be made in another process: {error}") from error
        self._waited_for = True
        try:
            self._start(own_folder)
        except OSError as error:
            raise GameError(f"cannot start a process for the game: {error.strerror}") from error
        # If it is dead already, the first question will tell of what.
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(message)

    def _start(self, own_folder: bool) -> None:
        with contextlib.ExitStack() as held:
            folder = ""
            if own_folder:
                temporary = tempfile.TemporaryDirectory(
                    prefix="arigraph-game-", ignore_cleanup_errors=True
                )
                folder = held.enter_context(temporary)
            self._printed = held.enter_context(tempfile.TemporaryFile())
            self._pipe, theirs = Pipe()
            held.enter_context(self._pipe)
            with theirs:
                self._process = self._spawn(theirs.fileno(), folder)
            self._held = held.pop_all()

    def _spawn(self, descriptor: int, folder: str) -> subprocess.Popen[bytes]:
        search_path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        return subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "arigraph_local.envs.process_server"),
                *(str(descriptor), str(os.getpid()), folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._printed,
            pass_fds=[descriptor],
            cwd=folder or None,
            env={**os.environ, "PYTHONPATH": search_path},
            # Ctrl-C reaches every process of the terminal's group; the parent decides what it
            # means.
            process_group=0,
        )

    @property
    def process_id(self) -> int:
        """Of the process."""
        return self._process.pid

    def ask(self, method: str, arguments: tuple[str, ...], seconds: float) -> Any:
        """What the environment's method or property gives; what it raises is raised here.

        Raises `CrashedError` if there is no answer in time, now and ever after.
        """
        if not self._waited_for:
            raise CrashedError("an answer was not waited for")
        self._waited_for = False
        try:
            self._pipe.send((method, arguments))
            if not self._pipe.poll(seconds):
                raise CrashedError(f"no answer in {seconds:g} s")
            failed, answer = self._pipe.recv()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise CrashedError(self._death()) from error
        self._waited_for = True
        if failed:
            raise answer
        return answer

    def end(self) -> None:
        """Close the pipe, which ends the child; kill it if it does not end."""
        self._pipe.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._held.close()

    def _death(self) -> str:
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        if code < 0:
            cause = f"signal {-code}, {signal.strsignal(-code) or 'unknown'}"
        else:
            cause = f"exit code {code}"
        last_words = self._last_words()
        return f"{cause}: {last_words}" if last_words else cause

    def _last_words(self) -> str:
        # The descriptor's position is shared with the child: it must not be moved.
        descriptor = self._printed.fileno()
        start = max(0, os.fstat(descriptor).st_size - _LAST_WORDS)
        lines = os.pread(descriptor, _LAST_WORDS, start).decode(errors="replace").splitlines()
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
