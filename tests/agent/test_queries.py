"""What the agent searches its memory for, and what of an update reaches the log."""

from __future__ import annotations

import json

import pytest
import three_rooms_script as script
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.agent.ariadne import Ariadne
from arigraph_local.agent.arigraph_memory import AriGraphMemory
from arigraph_local.agent.navigation import Navigator
from arigraph_local.agent.plan import EntityInterest, Plan, SubGoal
from arigraph_local.agent.recording import emit_update
from arigraph_local.agent.settings import AgentSettings
from arigraph_local.config import make_config
from arigraph_local.errors import UsageError
from arigraph_local.events import Event, MemoryUpdated, Retrieved, parse_event
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.settings import MemorySettings

ALL = ["goal", "hall", "find the key", "brass key"]


def searched(**settings: object) -> list[str]:
    """The queries of one decision, with a plan of one sub-goal and one entity."""
    memory = AriGraphMemory(AriGraph(script.engine(), WordEmbedder(), KuzuStore()))
    agent = Ariadne(
        script.engine(),
        memory,
        Navigator(memory),
        "goal",
        prompts=PromptSet(),
        settings=AgentSettings.model_validate(settings),
    )
    agent.plan = Plan(
        sub_goals=(SubGoal(goal="find the key", reason="it opens the locker"),),
        entities=(EntityInterest(name="The brass key", relevance=2),),
    )
    observation = ThreeRooms().reset()
    memory.graph.update(observation.text)
    events: list[Event] = []
    agent.decide(observation, 1, "", events.append)
    (search,) = [event for event in events if isinstance(event, Retrieved)]
    texts = [text for text, _ in search.queries]
    return ["hall" if text == observation.text else text for text in texts]


def test_by_default_goal_observation_plan_and_entities_are_searched_for() -> None:
    assert searched() == ALL


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        (["observation"], ["hall"]),
        (["entities", "goal"], ["brass key", "goal"]),
        (["plan", "plan"], ["find the key"]),
    ],
)
def test_the_queries_and_their_order_are_a_setting(queries: list[str], expected: list[str]) -> None:
    assert searched(queries=queries) == expected


@pytest.mark.parametrize("queries", [[], ["goals"]])
def test_no_queries_and_unknown_ones_are_refused_by_name(queries: list[str]) -> None:
    with pytest.raises(UsageError, match=r"agent\.queries"):
        make_config({"game": "x", "agent.queries": queries})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory.store", "neo4j"),
        ("memory.similarity", "euclid"),
        ("memory.ranking", "bm25"),
        ("memory.embed_batch", 0),
        ("memory.threshold", 1.5),
        ("memory.threshold", float("nan")),
        ("memory.merge_similarity", 1.5),
        ("memory.merge_ratio", -0.1),
        ("memory.keep_apart", ["a", " . "]),
    ],
)
def test_a_memory_setting_out_of_its_range_is_named(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=key.replace(".", r"\.")):
        make_config({"game": "x", key: value})


def test_a_dot_product_may_have_any_threshold() -> None:
    values = {"game": "x", "memory.similarity": "dot", "memory.threshold": 40.0}
    assert make_config(values).memory.threshold == 40.0


def test_merged_names_and_wordings_reach_the_log_and_come_back() -> None:
    replies = [[["brass key", "is in", "box"]], [["brass-key", "is", "heavy"]]]
    engine = ScriptedEngine({"extract": map(json.dumps, replies), "outdated": lambda _: "none"})
    settings = MemorySettings(merge_entities=True)
    memory = AriGraph(engine, WordEmbedder(), KuzuStore(), settings=settings)
    events: list[Event] = []
    for text in ("A key.", "It is heavy."):
        emit_update(events.append, memory.update(text), memory.store.current_count())
    updated = parse_event(events[-1].model_dump_json())
    assert isinstance(updated, MemoryUpdated)
    (merged,) = updated.merged
    assert (merged.alias, merged.name, merged.ratio) == ("brass-key", "brass key", 1.0)
    assert updated.wordings == ((("brass key", "is", "heavy"), ("brass-key", "is", "heavy")),)


def test_a_log_from_before_merging_still_parses() -> None:
    old = {
        "kind": "memory_updated",
        "step": 1,
        "text": "A key.",
        "learned": [["key", "is in", "box"]],
        "added": [{"id": 1, "triplet": ["key", "is in", "box"]}],
        "retired": [],
        "rejected": [],
        "guarded": {},
        "facts": 1,
    }
    event = parse_event(json.dumps(old))
    assert isinstance(event, MemoryUpdated)
    assert (event.merged, event.wordings) == ((), ())
