"""What a person sees while an episode runs."""

from __future__ import annotations

import io

from rich.console import Console

from arigraph_local.cli.live import LivePanel, PlainLines
from arigraph_local.events import (
    Acted,
    Event,
    EventTime,
    FactRecord,
    MemoryUpdated,
    ModelCalled,
    Observed,
    Planned,
    RetiredRecord,
)

HOSTILE = "key [bold]1[/bold] [red"
STEP: list[Event] = [
    Observed(
        step=3,
        text="A study.",
        inventory="",
        location="study",
        valid_actions=(),
        score=1,
        done=False,
    ),
    ModelCalled(
        step=3,
        time=EventTime(at=1.0, seconds=2.0),
        task="extract",
        prompt="p",
        reply="r",
        computed=80,
        reused=7,
        generated=20,
        stop="end",
    ),
    MemoryUpdated(
        step=3,
        text="A study.",
        learned=(),
        added=(FactRecord(id=1, triplet=(HOSTILE, "is in", "inventory")),),
        retired=(
            RetiredRecord(
                id=0,
                triplet=("key", "is on", "desk"),
                replacement=(HOSTILE, "is in", "inventory"),
                reason="x",
            ),
        ),
        rejected=(),
        guarded={},
        facts=12,
    ),
    Planned(step=3, plan={"sub_goals": [{"goal": "open it", "reason": "r"}]}, kept=False),
    Acted(
        step=3,
        rationale="because",
        action="take key",
        commands=("take key",),
        fallback=False,
        note="",
        reward=1,
        score=2,
        done=False,
    ),
]


def test_plain_lines_tell_a_step_in_one_line() -> None:
    out = io.StringIO()
    view = PlainLines(Console(file=out, width=40), steps=15)
    for event in STEP:
        view.show(event)
    assert out.getvalue() == "step 3/15  study  score 2  12 facts (+1 -1)  > take key\n"


def test_the_panel_shows_room_score_plan_triplets_and_speed_and_takes_no_markup() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, height=40, force_terminal=True, color_system=None)
    with LivePanel(console, steps=15) as view:
        for event in STEP:
            view.show(event)
        shown = out.getvalue() + "".join(segment.text for segment in console.render(view.render()))
    for part in ("study", "2", "open it", HOSTILE, "key, is on, desk", "10/s", "step 3/15"):
        assert part in shown
