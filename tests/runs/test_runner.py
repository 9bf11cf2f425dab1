"""A whole run: played, logged, finished, resumed, reproduced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import three_rooms_script as script
from babbling import BabblingEngine
from hypothesis import given, settings
from hypothesis import strategies as st
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.config import make_config
from arigraph_local.envs.environment import Observation
from arigraph_local.errors import ContextOverflowError, RunError, UsageError
from arigraph_local.events import Acted, Dropped, Interrupted, MemoryUpdated, Retrieved
from arigraph_local.llm.engine import Engine, Request
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.runs.event_log import FILE, PARTIAL, read_events
from arigraph_local.runs.run_folder import RESULT, RunFolder, RunResult
from arigraph_local.runs.runner import Equipment, run_episode


class DieError(Exception):
    """Stands for a process that is killed."""


def equipment(engine: Engine | None = None, steps: int = 20) -> Equipment:
    return Equipment(
        engine=engine or script.engine(),
        embedder=WordEmbedder(),
        environment=ThreeRooms(),
        game_digest="three rooms",
        steps=steps,
    )


def new_folder(path: Path) -> RunFolder:
    return RunFolder.create(path, make_config({"game": "three-rooms", "seed": 7}))


def log_without_times(folder: RunFolder) -> list[dict[str, object]]:
    lines = (folder.path / FILE).read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


def story(folder: RunFolder) -> list[dict[str, object]]:
    """The log without times and without what was reused: a resumed run has nothing kept yet."""
    cost = {"computed", "reused"}
    return [
        {k: v for k, v in event.items() if k not in cost} for event in log_without_times(folder)
    ]


def graph_of(folder: RunFolder) -> tuple[list[str], list[tuple[int, str]]]:
    store = KuzuStore(folder.graph)
    facts = [f"{fact.id} {fact.triplet} {store.history(fact.id)}" for fact in store.current()]
    episodes = [(episode.step, episode.text) for episode in store.episodes()]
    store.close()
    return facts, episodes


@pytest.fixture
def played(tmp_path: Path) -> tuple[RunFolder, RunResult]:
    folder = new_folder(tmp_path / "whole")
    return folder, run_episode(folder, equipment())


def test_the_scripted_agent_wins_over_a_graph_routed_detour(
    played: tuple[RunFolder, RunResult],
) -> None:
    folder, result = played
    assert (result.score, result.normalised_score, result.reason) == (2, 1.0, "won")
    assert result.steps == len(script.ACTIONS)
    walk = next(
        event
        for event in read_events(folder.path)
        if isinstance(event, Acted) and event.action == "go to hall"
    )
    assert walk.commands == ("go east", "go east")
    assert walk.note == ""


def test_the_log_holds_retirements_and_retrieval(played: tuple[RunFolder, RunResult]) -> None:
    events = read_events(played[0].path)
    retired = [
        item.triplet
        for event in events
        if isinstance(event, MemoryUpdated)
        for item in event.retired
    ]
    assert retired == [("key", "is on", "desk")]
    searches = [event for event in events if isinstance(event, Retrieved)]
    assert any(hit.triplet[0] == "key" for hit in searches[-1].facts)
    assert all(past.step < search.step for search in searches for past in search.episodes)


def test_the_result_adds_up_the_log(played: tuple[RunFolder, RunResult]) -> None:
    folder, result = played
    assert folder.result() == result
    assert result.tokens.calls == sum(cost.calls for cost in result.tasks.values())
    assert result.tasks["extract"].calls == len(script.ACTIONS)
    assert result.retired == 1
    assert result.facts == len(graph_of(folder)[0])


def test_the_same_run_twice_is_the_same_log(
    played: tuple[RunFolder, RunResult], tmp_path: Path
) -> None:
    again = new_folder(tmp_path / "again")
    run_episode(again, equipment())
    assert log_without_times(again) == log_without_times(played[0])


def test_a_finished_run_is_not_played_again(played: tuple[RunFolder, RunResult]) -> None:
    folder, result = played
    before = (folder.path / FILE).read_bytes()
    assert run_episode(folder, equipment(ScriptedEngine({}))) == result
    assert (folder.path / FILE).read_bytes() == before


def test_a_run_killed_at_any_event_resumes_to_the_same_log_and_graph(
    played: tuple[RunFolder, RunResult], tmp_path: Path
) -> None:
    whole = played[0]
    expected, graph = story(whole), graph_of(whole)
    for events in range(1, len(expected), 3):
        folder = new_folder(tmp_path / f"killed-{events}")
        with pytest.raises(DieError):
            run_episode(folder, equipment(), [_dying_after(events)])
        run_episode(folder, equipment())
        assert story(folder) == expected
        assert graph_of(folder) == graph


def _dying_after(events: int) -> Callable[[object], None]:
    seen = 0

    def listener(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == events:
            raise DieError

    return listener


def test_a_torn_last_line_is_set_aside_and_the_run_goes_on(
    played: tuple[RunFolder, RunResult],
) -> None:
    folder, result = played
    expected = story(folder)
    data = (folder.path / FILE).read_bytes()
    (folder.path / FILE).write_bytes(data[: len(data) * 2 // 3])
    (folder.path / RESULT).unlink()
    assert run_episode(folder, equipment()).score == result.score
    assert story(folder) == expected
    assert (folder.path / PARTIAL).stat().st_size > 0


def test_ctrl_c_is_logged_and_the_run_resumes(
    played: tuple[RunFolder, RunResult], tmp_path: Path
) -> None:
    def interrupt(request: Request) -> str:
        if "Step 3" in request.messages[1].content:
            raise KeyboardInterrupt
        return script.Actor()(request)

    engine = ScriptedEngine({"extract": script.extract, "plan": script.plan, "act": interrupt})
    folder = new_folder(tmp_path / "interrupted")
    with pytest.raises(KeyboardInterrupt):
        run_episode(folder, equipment(engine))
    last = read_events(folder.path)[-1]
    assert isinstance(last, Interrupted)
    assert last.step == 3
    run_episode(folder, equipment())
    assert story(folder) == story(played[0])


def test_a_game_that_changed_is_noticed_at_resume(tmp_path: Path) -> None:
    class Changed(ThreeRooms):
        def _look(self) -> str:
            return super()._look().replace("desk", "table")

    folder = new_folder(tmp_path / "run")
    with pytest.raises(DieError):
        run_episode(folder, equipment(), [_dying_after(30)])
    gear = equipment()
    changed = Equipment(gear.engine, gear.embedder, Changed(), gear.game_digest, gear.steps)
    with pytest.raises(RunError, match="cannot resume: at step 2 the game gives"):
        run_episode(folder, changed)


def test_another_model_is_noticed_at_resume(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")
    with pytest.raises(DieError):
        run_episode(folder, equipment(), [_dying_after(30)])
    other = ScriptedEngine({}, model_id="another")
    with pytest.raises(RunError, match="begun with model script, now it is another"):
        run_episode(folder, equipment(other))


def test_two_writers_do_not_share_a_run(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "run")

    def second_writer(_: object) -> None:
        with pytest.raises(RunError, match="is writing this run"):
            run_episode(RunFolder(folder.path), equipment())
        raise DieError

    with pytest.raises(DieError):
        run_episode(folder, equipment(), [second_writer])


def test_a_folder_with_a_run_in_it_is_not_overwritten(tmp_path: Path) -> None:
    new_folder(tmp_path / "run")
    with pytest.raises(UsageError, match="already holds a run"):
        new_folder(tmp_path / "run")


def test_the_step_limit_ends_a_run(tmp_path: Path) -> None:
    result = run_episode(new_folder(tmp_path / "run"), equipment(steps=2))
    assert (result.reason, result.steps, result.score) == ("step_limit", 2, 0)


def test_a_walk_stops_where_the_world_disagrees_and_the_agent_is_told(tmp_path: Path) -> None:
    class Moved(ThreeRooms):
        """The way back east from the cellar is blocked."""

        def step(self, command: str) -> Observation:
            blocked = self._room == "cellar" and command == "go east"
            return super().step("wait" if blocked else command)

    folder = new_folder(tmp_path / "run")
    engine = ScriptedEngine(
        {
            "extract": script.extract,
            "plan": script.plan,
            "act": script.Actor(("go west", "go west", "go to hall", "wait")),
        }
    )
    run_episode(folder, Equipment(engine, WordEmbedder(), Moved(), "moved", 4))
    walk = next(
        event
        for event in read_events(folder.path)
        if isinstance(event, Acted) and event.action == "go to hall"
    )
    assert walk.commands == ("go east",)
    assert "ended in cellar" in walk.note
    last_plan = [request for request in engine.requests if request.task == "plan"][-1]
    assert "Note: go to hall ended in cellar" in last_plan.messages[-1].content


def test_a_small_context_drops_whole_items_and_the_log_says_so(tmp_path: Path) -> None:
    class Dusty(ThreeRooms):
        """Rooms with long descriptions."""

        def _look(self) -> str:
            return super()._look() + " Dust lies on everything." * 40

    engine = ScriptedEngine(script.REPLIES, context_tokens=2100)
    folder = new_folder(tmp_path / "run")
    gear = Equipment(engine, WordEmbedder(), Dusty(), "dusty", 20)
    assert run_episode(folder, gear).score == 2
    dropped = [event for event in read_events(folder.path) if isinstance(event, Dropped)]
    assert {event.task for event in dropped} == {"plan"}
    assert all(event.items.keys() <= {"history", "facts", "episodes"} for event in dropped)
    assert any("history" in event.items for event in dropped)


def test_a_context_too_small_for_the_rules_is_one_clear_error(tmp_path: Path) -> None:
    engine = ScriptedEngine({"extract": script.extract}, context_tokens=600)
    with pytest.raises(ContextOverflowError, match=r"task 'extract' needs .* set --context"):
        run_episode(new_folder(tmp_path / "run"), equipment(engine))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.floats(0, 1))
def test_whatever_the_model_says_within_its_grammar_the_step_completes_and_the_log_parses(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cut: float
) -> None:
    folder = new_folder(tmp_path_factory.mktemp("babble") / "run")
    result = run_episode(folder, equipment(BabblingEngine(seed, cut), steps=3))
    assert 1 <= result.steps <= 3
    assert [event.kind for event in read_events(folder.path)][-1] == "run_finished"
    assert sum(isinstance(event, Acted) for event in read_events(folder.path)) == result.steps
