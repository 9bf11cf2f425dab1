"""Restarts of a crashed game, from where they are noticed to the log of the run."""

from __future__ import annotations

from collections.abc import Callable


class Restarts:
    """Called with a line for each restart; `hand_to` says who is told.

    A game is opened, and may crash, before there is a log to write to: what was said until then
    is kept and handed on.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._listener: Callable[[str], None] = self._kept.append

    def __call__(self, reason: str) -> None:
        """The game was started again."""
        self._listener(reason)

    def hand_to(self, listener: Callable[[str], None]) -> None:
        """Tell `listener` of every restart from now on, those kept so far first."""
        kept, self._kept = self._kept, []
        self._listener = listener
        for reason in kept:
            listener(reason)
