from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unruly_world import UnrulyWorld, make_unruly

from arigraph_local.envs.environment import Environment, TrueFact
from arigraph_local.envs.games import GameFiles
from arigraph_local.envs.opening import play_story
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.errors import ArigraphError, GameError

Said = list[str]


@pytest.fixture
def said() -> Said:
    return []


@pytest.fixture
def world(said: Said) -> Iterator[ProcessEnvironment]:
    environment = ProcessEnvironment(make_unruly, say=said.append, seconds=20)
    yield environment
    environment.close()


def _gone(process: int) -> bool:
    """No such process, or one that is dead and waits for its parent to notice."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def _wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def _child_of(environment: ProcessEnvironment) -> int:
    assert environment.process_id is not None
    return environment.process_id


def test_it_is_an_environment(world: ProcessEnvironment) -> None:
    environment: Environment = world
    assert environment.goal == "Count."
    assert environment.reset().text == "Zero."
    assert environment.step("wait").text == "1: wait"
    assert environment.true_facts() == {TrueFact("at", ("p", "1"))}
    assert environment.reset().score == 0


@pytest.mark.parametrize(
    ("mishap", "cause"),
    [
        ("kill", r"signal 9, Killed"),
        ("segfault", r"signal 11, Segmentation fault"),
        ("exit", r"exit code 1: SystemExit: 3"),
        ("last words", r"exit code 1: Fatal error: stack overflow"),
    ],
)
def test_a_dead_game_goes_on_where_it_was(
    world: ProcessEnvironment, said: Said, tmp_path: Path, mishap: str, cause: str
) -> None:
    world.reset()
    world.step("wait")
    first = world.process_id
    assert world.step(f"once {tmp_path / 'mark'} {mishap}").text == "This time it went well."
    assert world.step("wait").text == "3: wait"
    assert world.process_id != first
    assert world.restarts == 1
    assert said == [f"the game crashed ({cause}): started again, 1 commands repeated"]


def test_a_game_that_does_not_answer_in_time_is_ended(said: Said, tmp_path: Path) -> None:
    world = ProcessEnvironment(make_unruly, say=said.append, seconds=1)
    world.reset()
    hung = _child_of(world)
    assert world.step(f"once {tmp_path / 'mark'} hang").text == "This time it went well."
    assert said == ["the game crashed (no answer in 1 s): started again, 0 commands repeated"]
    assert _gone(hung)
    world.close()


def test_two_crashes_at_one_command_are_an_error_and_the_game_goes_on(
    world: ProcessEnvironment,
) -> None:
    world.reset()
    world.step("wait")
    with pytest.raises(GameError, match="crashed twice at step 'kill': signal 9"):
        world.step("kill")
    assert world.step("wait").text == "2: wait"
    assert world.restarts == 2


def test_a_game_that_goes_another_way_is_not_gone_on_with(
    world: ProcessEnvironment, tmp_path: Path
) -> None:
    world.reset()
    assert world.step(f"mark {tmp_path / 'mark'}").text == "first"
    with pytest.raises(GameError, match="went another way when it was started again"):
        world.step("kill")
    with pytest.raises(GameError, match="has been closed"):
        world.step("wait")


def test_a_crash_before_the_first_reset_repeats_nothing(
    world: ProcessEnvironment, said: Said
) -> None:
    os.kill(_child_of(world), signal.SIGKILL)
    assert world.reset().text == "Zero."
    assert said == ["the game crashed (signal 9, Killed): started again, 0 commands repeated"]


def test_a_reset_forgets_what_was_to_be_repeated(world: ProcessEnvironment, said: Said) -> None:
    world.reset()
    world.step("wait")
    world.reset()
    os.kill(_child_of(world), signal.SIGKILL)
    assert world.step("wait").text == "1: wait"
    assert said[0].endswith("0 commands repeated")


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("game error", "^the story is torn$"),
        ("raise", "^the game crashed: ValueError: no such luck$"),
        ("kill", "^the game cannot be started: signal 9, Killed$"),
        ("odd error", "^odd error$"),
    ],
)
def test_a_game_that_cannot_be_made_says_why(trouble: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        ProcessEnvironment(partial(make_unruly, trouble))


def test_errors_of_a_step_arrive_as_they_are(world: ProcessEnvironment) -> None:
    world.reset()
    for command in ("game error", "odd error", "raise"):
        with pytest.raises(ArigraphError) as caught:
            world.step(command)
        assert type(caught.value) is GameError
        assert "\n" not in str(caught.value)
    assert world.step("wait").text == "4: wait"
    assert world.restarts == 0


def test_a_maker_that_cannot_travel_is_one_clear_line() -> None:
    with pytest.raises(GameError, match="cannot be made in another process"):
        ProcessEnvironment(lambda: UnrulyWorld())


def test_ctrl_c_is_the_parents_affair(world: ProcessEnvironment) -> None:
    world.reset()
    assert os.getpgid(_child_of(world)) != os.getpgid(0)
    os.kill(_child_of(world), signal.SIGINT)
    assert world.step("wait").text == "1: wait"
    assert world.restarts == 0


def test_an_answer_that_was_not_waited_for_is_never_taken_for_another(
    world: ProcessEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.reset()
    world.step("wait")

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(world._child._pipe, "poll", interrupted)  # type: ignore[union-attr]
        with pytest.raises(KeyboardInterrupt):
            world.step("lost")
    assert world.step("found").text == "2: found"


def test_closing_leaves_no_process_no_descriptor_no_folder() -> None:
    gc.collect()
    before = _descriptors()
    for trouble in range(3):
        world = ProcessEnvironment(make_unruly, own_folder=True)
        child = _child_of(world)
        folder = Path(f"/proc/{child}/cwd").readlink()
        world.reset()
        world.step("folder")
        assert (folder / "left behind").exists()
        if trouble:
            os.kill(child, signal.SIGKILL)
        if trouble == 2:
            world.step("wait")
        last = _child_of(world)
        world.close()
        world.close()
        assert not folder.exists()
        assert not Path(f"/proc/{last}").exists()
    with pytest.raises(GameError, match="has been closed"):
        world.step("wait")
    assert _descriptors() == before


SCRIPT = """
import os, sys
from unruly_world import make_unruly
from arigraph_local.envs.process_environment import ProcessEnvironment
world = ProcessEnvironment(make_unruly, own_folder=True)
world.reset()
world.step("print")
print(world.process_id, os.readlink(f"/proc/{world.process_id}/cwd"), flush=True)
"""


def _script(ending: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + ending],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more},
    )


@pytest.mark.parametrize(
    "ending",
    [
        "input()",
        "os.fork() or input()\ninput()",
        "world._child._pipe.send(('step', ['hang']))\ninput()",
    ],
    ids=["idle", "with a fork that holds the pipe", "in a game that hangs"],
)
def test_a_child_ends_with_a_parent_that_is_killed(ending: str) -> None:
    with _script(ending) as parent:
        assert parent.stdout is not None
        child, folder = parent.stdout.readline().split()
        parent.kill()
        parent.wait()
        _wait_until(lambda: _gone(int(child)) and not Path(folder).exists())


def test_a_script_needs_no_main_guard_and_hears_nothing_of_the_childs_noise() -> None:
    with _script("") as script:
        output, _ = script.communicate(timeout=60)
    child, folder = output.split()
    assert script.returncode == 0
    _wait_until(lambda: _gone(int(child)) and not Path(folder).exists())


def test_the_child_sees_the_environment_variables_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARIGRAPH_TEST", "seen")
    with pytest.raises(GameError, match=r"^seen$"):
        ProcessEnvironment(partial(make_unruly, "variable ARIGRAPH_TEST"))


def test_modules_of_the_working_folder_do_not_shadow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    world = ProcessEnvironment(make_unruly)
    assert world.reset().text == "Zero."
    world.close()


@pytest.fixture(scope="module")
def both(easy: GameFiles) -> Iterator[tuple[Environment, ProcessEnvironment]]:
    make = partial(play_story, str(easy.story), easy.goal, "hunt")
    here, there = TextWorldEnvironment(easy.story, easy.goal), ProcessEnvironment(make)
    yield here, there
    here.close()
    there.close()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    choices=st.lists(st.integers(0, 30) | st.text(max_size=30) | st.just("x" * 10_000), max_size=6)
)
def test_a_game_in_its_process_is_the_game_itself(
    both: tuple[Environment, ProcessEnvironment], choices: list[int | str]
) -> None:
    here, there = both
    seen = here.reset()
    assert there.reset() == seen
    for choice in choices:
        valid = seen.valid_actions or ("look",)
        command = choice if isinstance(choice, str) else valid[choice % len(valid)]
        seen = here.step(command)
        assert there.step(command) == seen
        assert there.true_facts() == here.true_facts()


def test_a_killed_game_is_restored_word_for_word(
    both: tuple[Environment, ProcessEnvironment], easy: GameFiles
) -> None:
    here, there = both
    here.reset()
    there.reset()
    middle = len(easy.walkthrough) // 2
    for number, command in enumerate(easy.walkthrough):
        if number == middle:
            os.kill(_child_of(there), signal.SIGKILL)
        assert there.step(command) == here.step(command)
        assert there.true_facts() == here.true_facts()
    assert there.restarts == 1


def test_observations_travel_whole(environment: TextWorldEnvironment) -> None:
    first = environment.reset()
    assert pickle.loads(pickle.dumps(first)) == first
