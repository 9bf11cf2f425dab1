"""Every player leaves the same run folder, comes again from its seed, and resumes by replay."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import three_rooms_script as script
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.agent.episode import Player
from arigraph_local.config import make_config
from arigraph_local.envs.environment import Observation, TrueFact
from arigraph_local.events import Acted, Finished, MemoryUpdated, RunStarted
from arigraph_local.players.human_player import LONGEST_LINE, HumanPlayer
from arigraph_local.players.oracle_player import OraclePlayer
from arigraph_local.players.random_player import RandomPlayer
from arigraph_local.players.walkthrough_player import WalkthroughPlayer
from arigraph_local.runs.event_log import FILE, read_events
from arigraph_local.runs.run_folder import RESULT, RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

WAY = ("go west", "take key", "go east", "open locker")


class DieError(Exception):
    """Stands for a process that is killed."""


class Alternating:
    """An oracle that wanders once, and remembers that it did."""

    def __init__(self) -> None:
        self._asked = 0

    def next_action(self, facts: frozenset[TrueFact], observation: Observation) -> str | None:
        assert TrueFact("at", ("p", observation.location or "")) in facts
        self._asked += 1
        return ("go west", "go west", "go east", "take key", "go east")[self._asked - 1]


class Typed:
    """A terminal whose lines are given beforehand."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self.written: list[str] = []

    def read(self) -> str:
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    def write(self, text: str) -> None:
        self.written.append(text)


def gear(player: Callable[[ThreeRooms], Player], steps: int = 5) -> Equipment:
    game = ThreeRooms()
    return Equipment(None, None, game, "three rooms", steps, player(game))


MAKERS: dict[str, Callable[[ThreeRooms], Player]] = {
    "random": lambda _: RandomPlayer(7),
    "walkthrough": lambda _: WalkthroughPlayer(WAY),
    "oracle": lambda game: OraclePlayer(Alternating(), game),
    "human": lambda game: HumanPlayer(Typed(["go west", "dance", *WAY[1:]]), game.goal),
}


def folder_for(path: Path, player: str) -> RunFolder:
    return RunFolder.create(path, make_config({"game": "three-rooms", "player": player}))


def story(folder: RunFolder) -> list[dict[str, object]]:
    lines = (folder.path / FILE).read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


@pytest.mark.parametrize("player", MAKERS)
def test_the_run_folder_is_that_of_any_run_without_a_model(player: str, tmp_path: Path) -> None:
    folder = folder_for(tmp_path / "run", player)
    result = run_episode(folder, gear(MAKERS[player]))
    assert (result.player, result.model, result.steps) == (player, "none", result.steps)
    assert sorted(file.name for file in folder.path.iterdir()) == [
        ".lock",
        "config.toml",
        "events.jsonl",
        "result.json",
    ]
    started, *rest = read_events(folder.path)
    assert isinstance(started, RunStarted)
    assert (started.player, started.model, started.embedder) == (player, "none", "none")
    assert "torch" not in started.versions
    kinds = [event.kind for event in rest]
    assert kinds == ["observation", "action"] * result.steps + ["observation", "run_finished"]
    assert folder.result() == result


@pytest.mark.parametrize("player", MAKERS)
def test_the_same_seed_gives_the_same_log(player: str, tmp_path: Path) -> None:
    logs = []
    for name in ("one", "two"):
        folder = folder_for(tmp_path / name, player)
        run_episode(folder, gear(MAKERS[player]))
        logs.append(story(folder))
    assert logs[0] == logs[1]


@pytest.mark.parametrize("player", ["random", "walkthrough", "oracle"])
def test_a_run_killed_at_any_event_resumes_to_the_same_log(player: str, tmp_path: Path) -> None:
    whole = folder_for(tmp_path / "whole", player)
    run_episode(whole, gear(MAKERS[player]))
    for events in range(1, len(story(whole))):
        folder = folder_for(tmp_path / f"killed-{events}", player)
        with pytest.raises(DieError):
            run_episode(folder, gear(MAKERS[player]), [_dying_after(events)])
        run_episode(folder, gear(MAKERS[player]))
        assert story(folder) == story(whole)


def _dying_after(events: int) -> Callable[[object], None]:
    seen = 0

    def listener(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == events:
            raise DieError

    return listener


def test_random_choices_are_valid_differ_by_seed_and_do_not_hang_on_the_steps_before() -> None:
    game = ThreeRooms()
    first = game.reset()
    choices = [
        [RandomPlayer(seed).decide(first, step, "", print).action for step in range(1, 30)]
        for seed in (1, 2)
    ]
    assert choices[0] != choices[1]
    assert set(choices[0]) == set(choices[1]) == set(first.valid_actions)
    again = RandomPlayer(1)
    assert [again.decide(first, step, "", print).action for step in (9, 3)] == [
        choices[0][8],
        choices[0][2],
    ]


def test_where_a_game_offers_nothing_chance_looks() -> None:
    nothing = replace(ThreeRooms().reset(), valid_actions=())
    assert RandomPlayer(0).decide(nothing, 1, "", print).action == "look"


def test_a_walkthrough_that_is_over_ends_the_run(tmp_path: Path) -> None:
    folder = folder_for(tmp_path / "run", "walkthrough")
    result = run_episode(folder, gear(lambda _: WalkthroughPlayer(WAY[:2]), steps=20))
    assert (result.reason, result.steps, result.score) == ("nothing_left", 2, 1)
    assert isinstance(read_events(folder.path)[-1], Finished)


def test_a_person_can_ask_without_a_step_and_say_what_is_no_valid_action(tmp_path: Path) -> None:
    lines = [
        "",
        "/actions",
        "  go   west ",
        "/Inventory",
        "/goal",
        "/dance",
        "x" * (LONGEST_LINE + 1),
        "kick \udcff door",
        *WAY[1:],
    ]
    terminal = Typed(lines)
    folder = folder_for(tmp_path / "run", "human")
    player = HumanPlayer(terminal, ThreeRooms.goal)
    result = run_episode(folder, gear(lambda _: player, steps=20))
    acted = [event.action for event in read_events(folder.path) if isinstance(event, Acted)]
    assert acted == ["go west", "kick ? door", *WAY[1:]]
    assert (result.reason, result.score) == ("won", 2)
    actions, inventory, goal, unknown, too_long = terminal.written
    assert actions == "  go west\n  wait"
    assert inventory == "You carry nothing."
    assert goal == ThreeRooms.goal
    assert unknown.startswith("There is no '/dance'. ")
    assert str(LONGEST_LINE) in too_long


@pytest.mark.parametrize("leaving", [["quit"], ["/quit"], []])
def test_a_person_who_leaves_can_go_on_later(leaving: list[str], tmp_path: Path) -> None:
    folder = folder_for(tmp_path / "run", "human")
    first = Typed([*WAY[:2], *leaving])
    with pytest.raises(KeyboardInterrupt):
        run_episode(folder, gear(lambda _: HumanPlayer(first, ""), steps=9))
    assert not (folder.path / RESULT).exists()
    second = Typed(WAY[2:])
    result = run_episode(folder, gear(lambda _: HumanPlayer(second, ""), steps=9))
    assert (result.reason, result.score, result.steps) == ("won", 2, 4)


def test_a_person_with_the_memory_walks_the_routes_of_the_graph(tmp_path: Path) -> None:
    config = make_config({"game": "three-rooms", "player": "human", "show_graph": True})
    folder = RunFolder.create(tmp_path / "run", config)
    typed = Typed(["go west", "go west", "go to hall", "go west", "take key", "quit"])
    game = ThreeRooms()
    player = HumanPlayer(typed, game.goal)
    memory = Equipment(script.engine(), WordEmbedder(), game, "three rooms", 20, player)
    with pytest.raises(KeyboardInterrupt):
        run_episode(folder, memory)
    events = read_events(folder.path)
    walk = [event for event in events if isinstance(event, Acted)][2]
    assert walk.commands == ("go east", "go east")
    updates = [event for event in events if isinstance(event, MemoryUpdated)]
    assert [event.step for event in updates] == [1, 2, 3, 4, 5, 6]
    assert ("key", "is in", "inventory") in updates[-1].learned
    assert isinstance(events[0], RunStarted)
    assert events[0].model == "script"
