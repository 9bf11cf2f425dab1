"""`arigraph play --player …` and `arigraph score`."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from small_stories import compile_cellar
from three_rooms import ThreeRooms

from arigraph_local.cli.app import run
from arigraph_local.cli.dialogue import Dialogue, LineTerminal
from arigraph_local.config import NO_MODEL, make_config, read_config
from arigraph_local.envs.games import make_game
from arigraph_local.envs.opening import OpenGame, open_game
from arigraph_local.events import (
    Acted,
    Event,
    FactRecord,
    Finished,
    GameRestarted,
    MemoryUpdated,
    Observed,
    RetiredRecord,
    RunStarted,
)
from arigraph_local.players.walkthrough_player import WalkthroughPlayer
from arigraph_local.runs.event_log import FILE, read_events
from arigraph_local.runs.restarts import Restarts
from arigraph_local.runs.run_folder import RESULT, RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

HEAVY = (
    "torch",
    "sentence_transformers",
    "llama_cpp",
    "kuzu",
    "ladybug",
    "llguidance",
    "textworld",
)
GAME = "hunt:easy@3"


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    make_game(GAME, folder)
    return folder


@pytest.fixture(autouse=True)
def _no_model_at_all(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARIGRAPH_GAMES", str(games))
    monkeypatch.setenv("ARIGRAPH_MODELS", str(tmp_path / "no-models"))


@pytest.fixture
def three_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every game is the three rooms, in this process."""

    def opened(name: str, say: object) -> OpenGame:
        del say
        way = ("go west", "take key", "go east", "open locker")
        return OpenGame(ThreeRooms(), name, "three rooms", 9, walkthrough=way)

    monkeypatch.setattr("arigraph_local.runs.equipment.open_game", opened)


def play(*arguments: object) -> int:
    return run(["play", *(str(argument) for argument in arguments)])


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert play(*arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_the_oracle_wins_and_loads_nothing_of_a_model(tmp_path: Path) -> None:
    code = (
        "import sys; from arigraph_local.cli.app import run; "
        f"assert run(['play', {GAME!r}, '--player', 'oracle', '--json', "
        f"'--out', {str(tmp_path / 'run')!r}]) == 0; "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, result, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert json.loads(result)["normalised_score"] == 1.0
    config = read_config(tmp_path / "run" / "config.toml")
    assert (config.player, config.model, config.embedder) == ("oracle", NO_MODEL, NO_MODEL)


def test_a_killed_interpreter_costs_a_restart_and_not_the_run(tmp_path: Path) -> None:
    restarts = Restarts()
    game = open_game(GAME, restarts)

    def kill(event: Event) -> None:
        if isinstance(event, Observed) and event.step == 3:
            for process in _children():
                os.kill(process, signal.SIGKILL)

    config = make_config({"game": GAME, "player": "walkthrough"})
    folder = RunFolder.create(tmp_path / "run", config)
    player = WalkthroughPlayer(game.walkthrough)
    gear = Equipment(None, None, game.environment, game.digest, 150, player, restarts)
    said: list[str] = []
    try:
        result = run_episode(folder, gear, [kill], said.append)
    finally:
        game.environment.close()
    assert (result.reason, result.score) == ("won", 6)
    (line,) = said
    assert "signal 9" in line
    (noted,) = (e for e in read_events(folder.path) if isinstance(e, GameRestarted))
    assert (noted.step, noted.reason) == (3, line)


def _children() -> list[int]:
    """The processes that play a game for this one."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = status.with_name("cmdline").read_text()
        except OSError:
            continue
        if parent == os.getpid() and "process_server" in command:
            found.append(int(status.parent.name))
    return found


@pytest.mark.usefixtures("three_rooms")
def test_a_walkthrough_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(GAME, "--player", "walkthrough", "--json", "--out", tmp_path / "run") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["score"], result["normalised_score"], result["reason"]) == (2, 1.0, "won")
    assert (result["player"], result["model"]) == ("walkthrough", NO_MODEL)


@pytest.mark.usefixtures("three_rooms")
def test_random_comes_again_from_its_seed_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        out = tmp_path / name
        assert play(GAME, "--player", "random", "--seed", seed, "--steps", 8, "--out", out) == 0
    printed = capsys.readouterr().out
    assert "step 8/8  " in printed
    assert "tokens" not in printed
    assert "graph" not in printed
    assert actions(tmp_path / "one") == actions(tmp_path / "two") != actions(tmp_path / "other")
    cut = (tmp_path / "two" / FILE).read_bytes()
    (tmp_path / "two" / FILE).write_bytes(cut[: len(cut) * 2 // 3])
    (tmp_path / "two" / RESULT).unlink()
    assert play("--resume", tmp_path / "two", "--quiet") == 0
    assert actions(tmp_path / "one") == actions(tmp_path / "two")


@pytest.mark.parametrize(
    "game", ["hunt:easy@3", "cleaning:small@3", "cooking:rl-1@3", "nethack:room@3", "cellar.z8"]
)
def test_a_run_of_any_family_resumes_with_every_score_and_text(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if game.startswith("nethack"):
        pytest.importorskip("nle")
    if game.endswith(".z8"):
        game = str(compile_cellar(tmp_path / game))
    whole = tmp_path / "whole"
    wanted = ("--player", "random", "--seed", 2, "--steps", 12, "--quiet")
    assert play(game, *wanted, "--out", whole) == 0
    cut = Path(shutil.copytree(whole, tmp_path / "cut"))
    lines = (cut / FILE).read_bytes().splitlines(keepends=True)
    (cut / FILE).write_bytes(b"".join(lines[: len(lines) // 2]))
    (cut / RESULT).unlink()
    assert play("--resume", cut, "--quiet") == 0
    assert observations(cut) == observations(whole)
    assert actions(cut) == actions(whole)
    assert len(observations(whole)) == 13


def observations(folder: Path) -> list[str]:
    """Text, score and all else that was observed."""
    return [
        event.model_dump_json(exclude={"time"})
        for event in read_events(folder)
        if isinstance(event, Observed)
    ]


def actions(folder: Path) -> list[str]:
    return [event.action for event in read_events(folder) if isinstance(event, Acted)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--player", "random", "--model", "smollm2-135m"], "'model': the player random uses none"),
        (["--player", "oracle", "--embedder", "x"], "'embedder': the player oracle uses none"),
        (["--player", "human", "--model", "x"], "'model': the player human uses none"),
        (["--player", "nobody"], "'player'"),
        (["--player", "random", "--show-graph"], "set player to human"),
        (["--show-graph"], "set player to human"),
    ],
)
def test_what_a_player_cannot_use_is_refused_in_one_line(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in fails(capsys, GAME, *arguments, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("player", ["walkthrough", "oracle"])
def test_what_cannot_play_a_game_says_so_in_one_line(
    player: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "arigraph_local.runs.equipment.open_game",
        lambda name, _: OpenGame(ThreeRooms(), name, "three rooms"),
    )
    error = fails(capsys, GAME, "--player", player, "--out", tmp_path / "run", "-q")
    assert f"no {player}" in error
    assert GAME in error
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("three_rooms")
def test_a_person_plays_leaves_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr(sys, "stdin", io.StringIO("/actions\ngo west\nquit\n"))
    assert play(GAME, "--player", "human", "--out", out) == 130
    shown = capsys.readouterr()
    assert "-= Hall =-" in shown.out
    assert "  go west\n  wait\n" in shown.out
    assert "> go west\n" in shown.out
    assert "[step 2 of 9, score 0 of 2]" in shown.out
    assert f"arigraph play --resume {out}" in shown.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("dance\n"))
    assert play("--resume", out) == 130
    shown = capsys.readouterr()
    assert "> go west\n" in shown.out
    assert actions(out) == ["go west", "dance"]


@pytest.mark.usefixtures("three_rooms")
def test_a_persons_json_is_alone_on_the_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("wait\n"))
    out = tmp_path / "run"
    assert play(GAME, "--player", "human", "--steps", 1, "--json", "--out", out) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["steps"] == 1
    assert "-= Hall =-" in shown.err


def test_the_graphs_current_facts_stand_beside_the_text() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100)
    terminal = LineTerminal(console, prompt_here=False)
    with Dialogue(console, 9, terminal, with_graph=True) as view:
        view.show(STARTED)
        view.show(observed(1, "A study. A key [bold]lies[/bold] here."))
        view.show(updated(1, added=[(0, ("key", "is on", "desk")), (1, ("study", "is", "cold"))]))
        view.show(acted(1))
        view.show(observed(2, "Taken."))
        view.show(updated(2, added=[(2, ("key", "is in", "inventory"))], gone=[0]))
        view.show(acted(2))
        view.show(observed(3, "The end."))
        view.show(Finished(step=3, reason="won", score=1, steps=2))
    first, second = out.getvalue().split("[step 2 of 9")
    row = next(line for line in first.splitlines() if "study, is, cold" in line)
    assert "A study. A key [bold]lies[/bold] here." in first
    assert "2 facts" in first
    assert len(row) > 60
    assert "key, is in, inventory" in second
    assert "key, is on, desk" not in second
    assert "The end." in second


STARTED = RunStarted(
    step=0,
    game="g",
    game_digest="d",
    goal="win",
    max_score=1,
    player="human",
    model="m",
    embedder="e",
    seed=0,
    mode="reproducible",
    versions={},
)


def observed(step: int, text: str) -> Observed:
    return Observed(
        step=step, text=text, inventory="", location=None, valid_actions=(), score=0, done=False
    )


def updated(
    step: int, added: list[tuple[int, tuple[str, str, str]]], gone: list[int] | None = None
) -> MemoryUpdated:
    triplet = ("key", "is in", "inventory")
    return MemoryUpdated(
        step=step,
        text="",
        learned=(),
        added=tuple(FactRecord(id=number, triplet=fact) for number, fact in added),
        retired=tuple(
            RetiredRecord(id=number, triplet=triplet, replacement=triplet, reason="")
            for number in gone or []
        ),
        rejected=(),
        guarded={},
        facts=0,
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


@pytest.mark.usefixtures("three_rooms")
def test_scores_of_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for player in ("walkthrough", "random"):
        limit = ["--steps", 3] if player == "random" else []
        assert play(GAME, "--player", player, *limit, "-q", "--out", tmp_path / player) == 0
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.toml").write_text(f'game = "{GAME}"\n')
    capsys.readouterr()
    folders = [str(tmp_path / name) for name in ("walkthrough", "random", "begun")]
    assert run(["score", *folders]) == 0
    shown = capsys.readouterr()
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[1][:6] == [GAME, "random", "none", "none", "1", "0"]
    assert rows[2] == [
        *(GAME, "walkthrough", "none", "none", "1", "1", "2.00", "2", "1.000", "-", "4.0"),
    ]
    assert "begun: not finished, left out" in shown.err
    assert run(["score", "--json", "--by-level", *folders[:2]]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert [(one["game"], one["player"], one["n"]) for one in scores] == [
        ("hunt:easy", "random", 1),
        ("hunt:easy", "walkthrough", 1),
    ]
    assert (scores[1]["normalised"], scores[1]["best_normalised"]) == (1.0, None)


def test_scores_of_no_finished_run_and_of_no_run_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["score", str(tmp_path)]) == 2
    assert "not a run folder" in capsys.readouterr().err
    (tmp_path / "config.toml").write_text('game = "hunt:easy"\n')
    assert run(["score", str(tmp_path)]) == 1
    assert "none of these runs is finished" in capsys.readouterr().err
