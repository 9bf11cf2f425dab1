"""The event log: append-only, typed, and cut where a run can go on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.errors import RunError
from arigraph_local.events import Acted, Dropped, Event, Observed, RunStarted, parse_event
from arigraph_local.runs.event_log import (
    FILE,
    PARTIAL,
    EventLog,
    cut_after_last_step,
    read_events,
)


def started() -> RunStarted:
    return RunStarted(
        step=0,
        game="g",
        game_digest="d",
        goal="win",
        max_score=1,
        model="m",
        embedder="e",
        seed=0,
        mode="reproducible",
        versions={},
    )


def observed(step: int, text: str = "A room.") -> Observed:
    return Observed(
        step=step, text=text, inventory="", location=None, valid_actions=(), score=0, done=False
    )


def acted(step: int) -> Acted:
    return Acted(
        step=step,
        rationale="",
        action="wait",
        commands=("wait",),
        fallback=False,
        note="",
        reward=0,
        score=0,
        done=False,
    )


def write(folder: Path, *events: Event) -> None:
    with EventLog(folder, clock=lambda: 1.0) as log:
        for event in events:
            log.write(event)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write(tmp_path, started(), observed(1), acted(1))
    kinds = [event.kind for event in read_events(tmp_path)]
    assert kinds == ["run_started", "observation", "action"]


@given(st.text(), st.text())
def test_any_text_survives_a_line_of_the_log(text: str, inventory: str) -> None:
    event = observed(1, text).model_copy(update={"inventory": inventory})
    line = event.model_dump_json()
    assert "\n" not in line
    assert parse_event(line) == event


def test_every_cut_of_the_file_leaves_whole_finished_steps(tmp_path: Path) -> None:
    write(tmp_path, started(), observed(1), acted(1), observed(2), acted(2), observed(3))
    whole = (tmp_path / FILE).read_bytes()
    header = whole.index(b"\n") + 1
    for length in range(header, len(whole) + 1):
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / FILE).write_bytes(whole[:length])
        cut_after_last_step(folder)
        kept = (folder / FILE).read_bytes()
        rest = (folder / PARTIAL).read_bytes() if (folder / PARTIAL).exists() else b""
        assert whole.startswith(kept)
        assert (kept + rest).rstrip(b"\n") == whole[:length].rstrip(b"\n")
        last = read_events(folder)[-1]
        assert isinstance(last, RunStarted | Acted)


def test_a_line_that_is_not_an_event_is_named(tmp_path: Path) -> None:
    write(tmp_path, started())
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"kind": "action", "step": 1}\n')
    with pytest.raises(RunError, match=r"events\.jsonl:2: not an event of this version"):
        read_events(tmp_path)


def test_a_full_disk_is_one_line_that_says_how_to_go_on(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full to stand for a full disk")
    (tmp_path / FILE).symlink_to(full)
    log = EventLog(tmp_path)
    with pytest.raises(RunError, match=r"No space left on device.*--resume"):
        log.write(Dropped(step=1, task="plan", items={}))
    log.close()
