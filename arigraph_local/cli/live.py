"""What a person sees while an episode runs: a live panel, or plain lines without a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from arigraph_local.events import Acted, Event, MemoryUpdated, Observed, Planned
from arigraph_local.runs.summary import Summary

_TRIPLETS_SHOWN = 8


class View:
    """Shows nothing. A context manager; `show` takes each event as it happens."""

    def show(self, event: Event) -> None:
        """Take one event."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


class PlainLines(View):
    """A few lines a step, for logs and pipes."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._location = ""
        self._graph = ""

    def show(self, event: Event) -> None:
        """Print a line for each action, with the room, the score and the graph."""
        if isinstance(event, Observed):
            self._location = event.location or "?"
        elif isinstance(event, MemoryUpdated):
            self._graph = f"{event.facts} facts (+{len(event.added)} -{len(event.retired)})"
        elif isinstance(event, Acted):
            place = f"step {event.step}/{self._steps}  {self._location}  score {event.score}"
            self._print("  ".join(filter(None, (place, self._graph, f"> {event.action}"))))

    def _print(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)


class LivePanel(View):
    """One panel that is redrawn: room, score, plan, newest triplets, tokens per second.

    Without a model, room, score and action alone.
    """

    def __init__(self, console: Console, steps: int) -> None:
        self._steps = steps
        self._summary = Summary()
        self._observed: Observed | None = None
        self._updated: MemoryUpdated | None = None
        self._plan: Planned | None = None
        self._acted: Acted | None = None
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, event: Event) -> None:
        """Redraw with one more event."""
        self._summary.add(event)
        if isinstance(event, Observed):
            self._observed = event
        elif isinstance(event, MemoryUpdated):
            self._updated = event
        elif isinstance(event, Planned):
            self._plan = event
        elif isinstance(event, Acted):
            self._acted = event
        self._live.update(self.render())

    def render(self) -> RenderableType:
        """The panel as it stands."""
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="bold")
        facts.add_column()
        for name, value in self._rows():
            facts.add_row(name, Text(value, overflow="ellipsis"))
        step = min(self._observed.step, self._steps) if self._observed else 0
        return Panel(Group(facts), title=f"step {step}/{self._steps}", title_align="left")

    def _rows(self) -> list[tuple[str, str]]:
        total = self._summary.ledger.total
        tokens = total.tokens
        rows = []
        if self._observed:
            rows.append(("room", self._observed.location or "?"))
            rows.append(("sees", " ".join(self._observed.text.split())[:300]))
        rows.append(("score", str(self._acted.score if self._acted else 0)))
        if self._acted:
            why = "by chance: the reply was cut off" if self._acted.fallback else ""
            rows.append(("did", f"{self._acted.action}   ({why or self._acted.rationale})"))
        if self._plan:
            goals = self._plan.plan.get("sub_goals", [])
            rows.append(("plan", "\n".join(goal["goal"] for goal in goals) or "-"))
        if self._updated:
            shown = [", ".join(fact.triplet) for fact in self._updated.added[-_TRIPLETS_SHOWN:]]
            rows.append((f"graph ({self._updated.facts})", "\n".join(shown) or "nothing new"))
            gone = [", ".join(fact.triplet) for fact in self._updated.retired]
            if gone:
                rows.append(("retired", "\n".join(gone)))
        if total.calls:
            spent = f"{tokens.computed} computed, {tokens.reused} reused, "
            speed = f"{tokens.generated} generated, {total.tokens_per_second:.0f}/s"
            rows.append(("tokens", spent + speed))
        return rows
