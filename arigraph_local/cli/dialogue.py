"""A person playing at the terminal: what the game says, the graph beside it, and lines typed."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import TextIOWrapper

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from arigraph_local.cli.live import View
from arigraph_local.events import Acted, Event, Finished, MemoryUpdated, Observed, RunStarted
from arigraph_local.memory.triplet import Triplet
from arigraph_local.players.human_player import HELP

PROMPT = "> "
_FACTS_SHOWN = 30


class LineTerminal:
    """Reads lines from the standard input and writes to a console.

    `prompt_here` lets the line editor draw the prompt, which it does on the standard output.
    `shown` tells whether what was typed last stands on the screen.
    """

    def __init__(self, console: Console, *, prompt_here: bool) -> None:
        self._console = console
        self._prompt_here = prompt_here
        self.shown = False
        if isinstance(sys.stdin, TextIOWrapper):
            # A byte that is no text must not end the run.
            sys.stdin.reconfigure(errors="surrogateescape")

    def read(self) -> str:
        """One line. Raises `EOFError` at the end of input."""
        self.shown = sys.stdin.isatty()
        try:
            return self._typed() if self.shown else input()
        except EOFError:
            if self.shown:
                self.write("")
            raise

    def _typed(self) -> str:
        if not self._prompt_here:
            self._console.print(PROMPT, end="")
            return input()
        with suppress(ImportError):
            # Gives `input` its line editor, where the system has one.
            import readline  # noqa: F401
        return input(PROMPT)

    def write(self, text: str) -> None:
        """Print a text as it is."""
        self._console.print(Text(text), soft_wrap=True)


class Dialogue(View):
    """Shows the game's answers in full, and the actions of earlier sessions of the run."""

    def __init__(
        self, console: Console, steps: int, terminal: LineTerminal, *, with_graph: bool
    ) -> None:
        self._console = console
        self._steps = steps
        self._terminal = terminal
        self._with_graph = with_graph
        self._facts: dict[int, Triplet] = {}
        self._max_score = 0
        self._waiting: Observed | None = None

    def show(self, event: Event) -> None:
        """Print what one event tells the player."""
        if isinstance(event, RunStarted):
            self._max_score = event.max_score
            self._terminal.write(f"{event.goal}\n\n{HELP}")
        elif isinstance(event, Observed):
            self._waiting = event
            if not self._with_graph:
                self._tell()
        elif isinstance(event, MemoryUpdated):
            self._follow(event)
            self._tell()
        elif isinstance(event, Acted):
            if not self._terminal.shown:
                self._terminal.write(f"{PROMPT}{event.action}")
            self._terminal.shown = False
        elif isinstance(event, Finished):
            self._tell()

    def _follow(self, event: MemoryUpdated) -> None:
        for gone in event.retired:
            self._facts.pop(gone.id, None)
        for fact in event.added:
            self._facts[fact.id] = Triplet(*fact.triplet)

    def _tell(self) -> None:
        """Print the observation that has not been shown yet, if there is one."""
        observed, self._waiting = self._waiting, None
        if observed is None:
            return
        self._terminal.write(f"\n{self._heading(observed)}")
        if not self._with_graph:
            self._terminal.write(observed.text)
            return
        beside = Table.grid(padding=(0, 2), expand=True)
        beside.add_column(ratio=3)
        beside.add_column(ratio=2)
        beside.add_row(Text(observed.text), self._graph())
        self._console.print(beside)

    def _heading(self, observed: Observed) -> str:
        step = min(observed.step, self._steps)
        of_all = f" of {self._max_score}" if self._max_score else ""
        return f"[step {step} of {self._steps}, score {observed.score}{of_all}]"

    def _graph(self) -> Panel:
        """The current facts, the newest first."""
        newest = list(reversed(self._facts.values()))
        lines = [str(triplet) for triplet in newest[:_FACTS_SHOWN]]
        if len(newest) > _FACTS_SHOWN:
            lines.append(f"and {len(newest) - _FACTS_SHOWN} more")
        return Panel(Text("\n".join(lines) or "nothing yet"), title=f"{len(newest)} facts")
