"""A game that crashed and was started again: the log says so, and the user is warned."""

from __future__ import annotations

from pathlib import Path

import pytest
from three_rooms import ThreeRooms

from arigraph_local.config import make_config
from arigraph_local.envs.environment import Observation
from arigraph_local.events import Event, GameRestarted, Observed
from arigraph_local.players.random_player import RandomPlayer
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.restarts import Restarts
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

CONFIG = make_config({"game": "three-rooms", "player": "random"})


def test_what_was_said_before_anyone_listens_is_handed_on_once() -> None:
    restarts = Restarts()
    restarts("first")
    heard: list[str] = []
    restarts.hand_to(heard.append)
    restarts("second")
    later: list[str] = []
    restarts.hand_to(later.append)
    restarts("third")
    assert (heard, later) == (["first", "second"], ["third"])


def test_a_restart_is_logged_at_its_step_and_said(tmp_path: Path) -> None:
    restarts = Restarts()

    class Crashing(ThreeRooms):
        def reset(self) -> Observation:
            restarts("crashed at the start")
            return super().reset()

        def step(self, command: str) -> Observation:
            if len(self.commands) == 1:
                restarts("crashed at the second command")
            return super().step(command)

    folder = RunFolder.create(tmp_path / "run", CONFIG)
    said: list[str] = []
    gear = Equipment(None, None, Crashing(), "d", 3, RandomPlayer(0), restarts)
    run_episode(folder, gear, say=said.append)
    events = read_events(folder.path)
    assert said == ["crashed at the start", "crashed at the second command"]
    assert [(e.step, e.reason) for e in events if isinstance(e, GameRestarted)] == [
        (0, said[0]),
        (2, said[1]),
    ]
    assert [event.kind for event in events[:3]] == [
        "run_started",
        "game_restarted",
        "observation",
    ]


def test_a_run_with_a_restart_resumes(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", CONFIG)
    restarts = Restarts()

    def crash_then_leave(event: Event) -> None:
        if isinstance(event, Observed) and event.step == 2:
            restarts("crashed")
        if isinstance(event, Observed) and event.step == 3:
            raise KeyboardInterrupt

    gear = Equipment(None, None, ThreeRooms(), "d", 4, RandomPlayer(0), restarts)
    with pytest.raises(KeyboardInterrupt):
        run_episode(folder, gear, [crash_then_leave])
    result = run_episode(folder, Equipment(None, None, ThreeRooms(), "d", 4, RandomPlayer(0)))
    assert result.steps == 4
    kinds = [event.kind for event in read_events(folder.path)]
    assert kinds.count("game_restarted") == 1
