"""Every memory plays a whole game, resumes, and changes nothing but what the agent recalls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import three_rooms_script as script
from three_rooms import ThreeRooms
from three_rooms_runs import folder_of, gear, prompts, recalled
from word_embedder import WordEmbedder

from arigraph_local.ablations import ablation_values
from arigraph_local.config import make_config
from arigraph_local.envs.environment import Environment
from arigraph_local.envs.games import FAMILIES
from arigraph_local.envs.opening import open_game
from arigraph_local.errors import UsageError
from arigraph_local.events import Event, ModelCalled
from arigraph_local.llm.engine import Request
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.settings import MemoryName
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

MEMORIES = get_args(MemoryName)
REPLIES = script.REPLIES


class DieError(Exception):
    """Stands for a process that is killed."""


def story(folder: RunFolder) -> list[dict[str, object]]:
    left_out = {"time", "computed", "reused"}
    return [
        {key: value for key, value in json.loads(event.model_dump_json()).items()
         if key not in left_out}
        for event in read_events(folder.path)
    ]  # fmt: skip


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_memory_plays_a_game_to_its_end_and_is_named_in_the_result(
    memory: str, tmp_path: Path
) -> None:
    result = run_episode(folder_of(tmp_path / "run", memory), gear())
    assert (result.memory, result.score, result.reason) == (memory, 2, "won")


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_run_killed_at_any_step_resumes_to_the_same_story(memory: str, tmp_path: Path) -> None:
    whole = folder_of(tmp_path / "whole", memory)
    run_episode(whole, gear())
    expected = story(whole)
    for kill in range(5, len(expected), 7):
        folder = folder_of(tmp_path / f"killed-{kill}", memory)
        seen = 0

        def die(_: Event, kill: int = kill) -> None:
            nonlocal seen
            seen += 1
            if seen == kill:
                raise DieError

        with pytest.raises(DieError):
            run_episode(folder, gear(), [die])
        run_episode(folder, gear())
        assert story(folder) == expected


def test_an_ablation_is_named_in_the_result_and_changes_the_prompts(tmp_path: Path) -> None:
    def played(name: str) -> tuple[tuple[str, ...], list[str], set[str]]:
        values = {"game": "three-rooms", "agent.history": 2} | ablation_values([name])
        folder = RunFolder.create(tmp_path / name, make_config(values))
        engine = ScriptedEngine(REPLIES)
        equipment = Equipment(engine, WordEmbedder(), ThreeRooms(), "three rooms", 20)
        result = run_episode(folder, equipment)
        assert result.score == 2
        acts = [call for call in engine.requests if call.task == "act"]
        texts = [turn.content for call in acts for turn in call.messages]
        return result.ablations, texts, {call.task for call in engine.requests}

    everything = played("outdated")[1]
    assert any("Facts in memory:" in text for text in everything)
    assert any("Earlier scenes" in text for text in everything)
    assert any("Unexplored exits:" in text for text in everything)
    for name, gone in {
        "episodic": "Earlier scenes",
        "semantic": "Facts in memory:",
        "exploration": "Unexplored exits:",
        "plan": "Current plan:",
    }.items():
        ablations, texts, tasks = played(name)
        assert ablations == (name,)
        assert not any(gone in text for text in texts), name
        assert ("plan" in tasks) == (name != "plan")
    assert "outdated" not in played_tasks(tmp_path)


def played_tasks(path: Path) -> set[str]:
    events = read_events(path / "outdated")
    return {event.task for event in events if isinstance(event, ModelCalled)}


def test_an_ablation_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="unknown ablation 'semantics'"):
        ablation_values(["semantics"])


def test_only_parts_that_a_memory_has_count_as_left_out() -> None:
    values: dict[str, object] = {"game": "x", "memory.episodes": 0, "memory.detect_outdated": False}
    named = {memory: make_config(values | {"memory.name": memory}).ablations for memory in MEMORIES}
    assert named["arigraph"] == ("episodic", "outdated")
    assert named["hipporag"] == ("episodic",)
    assert named["temporal-kg"] == ("outdated",)
    assert named["rag"] == ()


def test_another_memory_is_for_ariadne_alone() -> None:
    with pytest.raises(UsageError, match=r"'memory'.* only ariadne plays with the memory rag"):
        make_config({"game": "x", "player": "random", "memory.name": "rag"})


def without_memory(prompt: str) -> str:
    """The prompt without the sections and turns that a memory recalled."""
    prompt = re.sub(
        r"(?:<\|im_start\|>user\nStep \d+\.\n.*?<\|im_start\|>assistant\n.*?<\|im_end\|>\n)+",
        "", prompt, flags=re.DOTALL,
    )  # fmt: skip
    headings = (
        "Facts in memory|Earlier scenes that may matter|Earlier observations that may matter|"
        "What happened so far|Facts in memory, with the steps at which they held|"
        "Memories that may matter|Core memory|Found in the archive|Lessons of earlier attempts"
    )
    return re.sub(rf"(?:{headings}):\n(?:- .*\n)+", "", prompt)


def agent_prompts(memory: str, path: Path) -> tuple[list[str], list[str]]:
    """The prompts for plan and action as sent, and without what the memory recalled."""
    folder = folder_of(path / memory, memory)
    run_episode(folder, gear())
    sent = prompts(folder, "plan", "act")
    return sent, [without_memory(prompt) for prompt in sent]


def test_plan_and_act_prompts_differ_between_memories_only_in_what_is_recalled(
    tmp_path: Path,
) -> None:
    bare, same = agent_prompts("none", tmp_path)
    assert bare == same
    for memory in MEMORIES:
        sent, rest = agent_prompts(memory, tmp_path / "others")
        assert rest == same, memory
        assert memory == "none" or sent != bare, memory


def test_full_history_recalls_every_step_that_the_short_history_does_not_show(
    tmp_path: Path,
) -> None:
    turns = [event.turns for event in recalled("full-history", tmp_path)]
    assert turns == [2 * max(0, step - 3) for step in range(1, len(script.ACTIONS) + 1)]


def test_rag_recalls_past_observations_by_similarity(tmp_path: Path) -> None:
    *_, last = recalled("rag", tmp_path)
    ((heading, items),) = last.sections
    assert heading == "Earlier observations that may matter"
    assert any("Cellar" in item for item in items)
    assert len(items) == len(set(items)) <= 5


def test_the_summary_is_rewritten_from_the_one_before(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", "summary")
    run_episode(folder, gear())
    sent = prompts(folder, "summary")
    assert len(sent) == len(script.ACTIONS)
    golden = (Path(__file__).parent / "golden" / "summary.txt").read_text(encoding="utf-8")
    assert sent[1] == golden
    assert "Notes so far" not in sent[0]
    assert all("Notes so far: I walk from room to room" in prompt for prompt in sent[1:])


def test_a_temporal_graph_still_finds_what_is_outdated_with_its_interval(tmp_path: Path) -> None:
    *_, last = recalled("temporal-kg", tmp_path)
    items = [item for _, section in last.sections for item in section]
    assert "key, is on, desk (from step 2 to 6, not any more)" in items
    assert "key, is in, inventory (since step 6)" in items


def test_hipporag_retires_nothing_and_ranks_what_is_near_the_seeds_first(tmp_path: Path) -> None:
    *_, last = recalled("hipporag", tmp_path)
    items = dict(last.sections)["Facts in memory"]
    assert {"key, is on, desk", "key, is in, inventory"} <= set(items)
    assert any("key" in item for item in items[:3])


class _OracleActs:
    """Acts as the oracle of a family would, which sees the true state."""

    def __init__(self, environment: Environment, family: str) -> None:
        self._environment = environment
        self._oracle = FAMILIES[family].oracle()
        self.observation = environment.reset()

    def __call__(self, request: Request) -> str:
        action = self._oracle.next_action(self._environment.true_facts(), self.observation)
        return json.dumps({"rationale": "it is known", "action": action})


@pytest.mark.parametrize("memory", MEMORIES)
def test_with_perfect_actions_every_memory_wins_all_points_of_a_hunt(
    memory: str, tmp_path: Path
) -> None:
    game = open_game("hunt:easy@1", lambda _: None)
    try:
        acts = _OracleActs(game.environment, "hunt")
        engine = ScriptedEngine(REPLIES | {"extract": lambda _: "[]", "act": acts})
        folder = RunFolder.create(
            tmp_path / "run", make_config({"game": "hunt:easy@1", "memory.name": memory})
        )

        def follow(event: Event) -> None:
            if event.kind == "observation":
                acts.observation = acts.observation.__class__(
                    text=event.text,
                    inventory=event.inventory,
                    location=event.location,
                    valid_actions=event.valid_actions,
                    score=event.score,
                    max_score=acts.observation.max_score,
                    done=event.done,
                    won=False,
                )

        tools = Equipment(engine, WordEmbedder(), game.environment, game.digest, game.step_limit)
        result = run_episode(folder, tools, [follow])
    finally:
        game.environment.close()
    assert (result.normalised_score, result.reason) == (1.0, "won")
