"""The update cycle and the search with scripted replies (paper section 2)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from word_embedder import WordEmbedder

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.store import Episode, Fact, StepChange
from arigraph_local.memory.learning.outdated import Pair
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.semantic_search import Query
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.spatial.spatial_map import Passage
from arigraph_local.memory.triplet import Triplet


def reply(*texts: str) -> str:
    return json.dumps([text.split(", ") for text in texts])


LOCKER = reply(
    "key 1, is in, locker", "note 1, is in, locker", "locker, is, closed", "key 1, opens, chest"
)
TAKEN = reply("key 1, is in, inventory")


class Scripted:
    """A memory over scripted replies, with its engine at hand."""

    def __init__(self, *, extract: list[str], outdated: list[str], **settings: object) -> None:
        self.engine = ScriptedEngine({"extract": extract, "outdated": outdated})
        self.store = KuzuStore(None)
        self.memory = AriGraph(
            self.engine,
            WordEmbedder(),
            self.store,
            settings=MemorySettings.model_validate(settings),
        )

    def current(self) -> set[str]:
        return {str(fact.triplet) for fact in self.store.current()}

    def tasks(self) -> list[str]:
        return [request.task for request in self.engine.requests]


@pytest.fixture
def taking_the_key() -> Iterator[Scripted]:
    scripted = Scripted(extract=[LOCKER, TAKEN], outdated=["E1>N1"])
    scripted.memory.update("The locker holds a key and a note.")
    yield scripted
    scripted.memory.close()


def test_taking_the_key_from_the_locker_moves_it_and_nothing_else(taking_the_key: Scripted) -> None:
    update = taking_the_key.memory.update("You take the key.", action="take key 1")
    assert [str(pair.fact.triplet) for pair in update.retired] == ["key 1, is in, locker"]
    assert taking_the_key.current() == {
        "note 1, is in, locker",
        "locker, is, closed",
        "key 1, opens, chest",
        "key 1, is in, inventory",
    }


def test_what_was_retired_is_still_in_its_episode_and_its_history(taking_the_key: Scripted) -> None:
    taking_the_key.memory.update("You take the key.")
    store = taking_the_key.store
    (old,) = [fact for fact in store.as_of(1) if str(fact.triplet) == "key 1, is in, locker"]
    (interval,) = store.history(old.id)
    assert (interval.start, interval.end) == (1, 2)
    assert old.id in store.episodes()[0].fact_ids
    assert "key 1, is in, inventory" not in {str(fact.triplet) for fact in store.as_of(1)}


def test_only_what_the_new_fact_can_replace_is_put_to_the_model(taking_the_key: Scripted) -> None:
    taking_the_key.memory.update("You take the key.")
    question = taking_the_key.engine.requests[-1].messages[-1].content
    assert "E1: key 1, is in, locker" in question
    assert "note 1" not in question
    assert "chest" not in question


def test_the_question_continues_the_extractions_conversation(taking_the_key: Scripted) -> None:
    taking_the_key.memory.update("You take the key.")
    extract, outdated = taking_the_key.engine.requests[-2:]
    assert outdated.messages[:-2] == extract.messages
    assert outdated.messages[-2].content == TAKEN
    assert outdated.conversation == extract.conversation


@pytest.mark.parametrize("answer", ["none", "E1>N1, E1>N1"])
def test_the_model_decides_and_saying_it_twice_is_saying_it_once(answer: str) -> None:
    scripted = Scripted(
        extract=[reply("key 1, is in, locker", "key 1, is on, shelf"), TAKEN], outdated=[answer]
    )
    scripted.memory.update("A key.")
    update = scripted.memory.update("You take the key.")
    assert len(update.retired) == (0 if answer == "none" else 1)
    assert "key 1, is on, shelf" in scripted.current()


def test_an_unlocked_locker_does_not_delete_which_key_unlocks_it() -> None:
    scripted = Scripted(
        extract=[
            reply("key 1, unlocks, locker", "locker, is, locked"),
            reply("locker, is, unlocked"),
        ],
        outdated=["E1>N1"],
    )
    scripted.memory.update("A locked locker and its key.")
    scripted.memory.update("You unlock the locker.")
    assert scripted.current() == {"key 1, unlocks, locker", "locker, is, unlocked"}


def test_without_the_guard_the_model_can_delete_what_is_still_true_and_it_is_logged() -> None:
    scripted = Scripted(
        extract=[reply("key 1, unlocks, locker"), reply("locker, is, unlocked")],
        outdated=["E1>N1"],
        structural_guard=False,
    )
    scripted.memory.update("A key.")
    update = scripted.memory.update("You unlock the locker.")
    assert [str(pair.fact.triplet) for pair in update.retired] == ["key 1, unlocks, locker"]


def test_a_restated_fact_survives_a_contradiction_in_the_same_reply() -> None:
    scripted = Scripted(
        extract=[reply("key, is in, locker"), reply("key, is in, locker", "key, is on, floor")],
        outdated=[],
    )
    scripted.memory.update("A key.")
    update = scripted.memory.update("A key again.")
    assert update.guarded == {"restatement": 1}
    assert scripted.current() == {"key, is in, locker", "key, is on, floor"}


def test_an_edge_between_two_visited_rooms_is_never_put_to_the_model() -> None:
    scripted = Scripted(
        extract=[reply("room b, is in, room a"), reply("room b, is in, tower")],
        outdated=[],
        structural_guard=False,
    )
    scripted.memory.update("Room a.", location="Room A")
    update = scripted.memory.update(
        "Room b.", location="Room B", passage=Passage("room a", "west", "room b")
    )
    assert update.guarded["between locations"] == 1
    assert {"room b, is west of, room a", "room a, is east of, room b"} <= scripted.current()


def test_nothing_new_asks_nothing() -> None:
    scripted = Scripted(extract=[LOCKER, LOCKER, "[]"], outdated=[])
    for _ in range(3):
        scripted.memory.update("The locker.")
    assert scripted.tasks() == ["extract"] * 3
    assert [episode.step for episode in scripted.store.episodes()] == [1, 2, 3]


def test_detection_can_be_switched_off() -> None:
    scripted = Scripted(extract=[LOCKER, TAKEN], outdated=[], detect_outdated=False)
    scripted.memory.update("The locker.")
    scripted.memory.update("You take the key.")
    assert {"key 1, is in, locker", "key 1, is in, inventory"} <= scripted.current()


def test_empty_extractions_in_a_row_stop_with_the_last_reply() -> None:
    scripted = Scripted(
        extract=["[]", reply("a, is, b"), "[]", "[]"], outdated=[], max_empty_extractions=2
    )
    for _ in range(3):
        scripted.memory.update("Something.")
    with pytest.raises(ArigraphError, match=r"no triplet from 2 observations in a row.*'\[\]'"):
        scripted.memory.update("Something.")


def test_an_observation_beyond_the_context_is_an_error_and_changes_nothing() -> None:
    engine = ScriptedEngine({"extract": [LOCKER]}, context_tokens=1500)
    memory = AriGraph(engine, WordEmbedder(), KuzuStore(None))
    with pytest.raises(ContextOverflowError, match="extract"):
        memory.update("word " * 3000)
    assert memory.store.episodes() == []


def test_search_returns_facts_and_the_episode_that_holds_them() -> None:
    scripted = Scripted(
        extract=[
            reply("key 1, is in, locker", "key 1, opens, chest"),
            reply("carrot, is in, fridge", "fridge, is, open"),
        ],
        outdated=[],
    )
    scripted.memory.update("A key in the locker opens the chest.")
    scripted.memory.update("A carrot in the fridge.")
    found = scripted.memory.search(["key 1"], k=1, d=1, w=2)
    assert {str(hit.fact.triplet) for hit in found.facts} == {
        "key 1, is in, locker",
        "key 1, opens, chest",
    }
    assert [hit.episode.step for hit in found.episodes] == [1]
    assert scripted.memory.search([Query("key 1", 1)], k=1, w=2, exclude_steps={1}).episodes == ()


def test_a_memory_over_a_store_that_already_holds_facts_finds_them() -> None:
    scripted = Scripted(extract=[LOCKER], outdated=[])
    scripted.memory.update("The locker.")
    again = AriGraph(scripted.engine, WordEmbedder(), scripted.store)
    assert again.search(["chest"], d=1, w=1).facts[0].fact.triplet.object == "chest"


def test_retired_facts_are_not_found(taking_the_key: Scripted) -> None:
    taking_the_key.memory.update("You take the key.")
    found = taking_the_key.memory.search(["key 1 is in locker"], d=3, w=9)
    assert "key 1, is in, locker" not in {str(hit.fact.triplet) for hit in found.facts}


def test_a_blank_observation_is_an_episode_and_is_not_put_to_the_model() -> None:
    scripted = Scripted(extract=[], outdated=[], max_empty_extractions=1)
    update = scripted.memory.update(" \n")
    assert (update.calls, update.learned) == ((), ())
    moved = scripted.memory.update("", passage=Passage("room a", "west", "room b"))
    assert len(moved.added) == 2
    assert [episode.text for episode in scripted.memory.episodes()] == [" \n", ""]


def test_a_blank_query_finds_nothing() -> None:
    scripted = Scripted(extract=[LOCKER], outdated=[])
    scripted.memory.update("The locker.")
    assert scripted.memory.search(["", " ", Query("\n", 3)]).facts == ()


@pytest.mark.parametrize(
    "bad", [Triplet("", "is", "x"), Triplet("a", " ", "x"), Triplet("a", "is near", "a")]
)
def test_writing_a_triplet_with_an_empty_part_or_a_self_loop_is_refused(bad: Triplet) -> None:
    memory = Scripted(extract=[], outdated=[]).memory
    with pytest.raises(ArigraphError, match=r"step 4: the triplet .* empty part or is a self-loop"):
        memory.write(4, "text", [Triplet("b", "is", "c"), bad])
    assert memory.episodes() == []


def test_half_a_surrogate_pair_in_an_observation_is_refused() -> None:
    scripted = Scripted(extract=[], outdated=[])
    with pytest.raises(ArigraphError, match="the observation is not valid Unicode"):
        scripted.memory.update("a\ud800")


class FailingEmbedder(WordEmbedder):
    """Gives a vector that is not finite for one text."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = super().embed(texts)
        for row, text in zip(rows, texts, strict=True):
            if "cursed" in text:
                row[0] = np.nan
        return rows


def test_a_step_that_cannot_be_embedded_is_not_written(tmp_path: Path) -> None:
    engine = ScriptedEngine({"extract": [reply("ring, is, cursed"), TAKEN]})
    with AriGraph(engine, FailingEmbedder(), KuzuStore(tmp_path / "graph.kuzu")) as memory:
        with pytest.raises(ArigraphError, match="finite"):
            memory.update("A ring.")
        assert (memory.episodes(), memory.facts(current=False)) == ([], [])
        memory.update("You take the key.")
        assert [episode.step for episode in memory.episodes()] == [1]


def test_embeddings_are_kept_beside_the_graph_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    with AriGraph(ScriptedEngine({"extract": [LOCKER]}), WordEmbedder(), KuzuStore(path)) as memory:
        memory.update("The locker.")
        before = memory.search(["key 1"], d=2)
    assert (tmp_path / "graph.vectors").is_file()
    embedder = WordEmbedder()
    with AriGraph(ScriptedEngine({}), embedder, KuzuStore(path)) as memory:
        assert memory.search(["key 1"], d=2) == before
    assert embedder.embedded == []


def test_the_file_of_the_embeddings_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.vectors"
    with AriGraph(ScriptedEngine({}), WordEmbedder(), KuzuStore(), vectors=file) as memory:
        memory.write(1, "text", [Triplet("a", "is", "b")])
    assert file.is_file()


def test_a_fact_retired_and_learned_again_is_found_again(taking_the_key: Scripted) -> None:
    memory = taking_the_key.memory
    memory.update("You take the key.")
    back = Triplet("key 1", "is in", "locker")
    (held,) = memory.facts("inventory")
    memory.write(3, "You put it back.", [back], [Pair(held, back)])
    found = {str(hit.fact.triplet) for hit in memory.search(["key 1"], d=1, w=9).facts}
    assert str(back) in found
    assert "key 1, is in, inventory" not in found


@pytest.mark.parametrize("ranking", ["embedding", "hybrid"])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_every_ranking_and_similarity_finds_the_key(ranking: str, similarity: str) -> None:
    scripted = Scripted(extract=[LOCKER], outdated=[], ranking=ranking, similarity=similarity)
    scripted.memory.update("The locker.")
    (first, *_) = scripted.memory.search(["note 1 is in locker"], d=1).facts
    assert str(first.fact.triplet) == "note 1, is in, locker"


class NoWholeReads(KuzuStore):
    """A store that refuses to be read whole once it is `guarded`."""

    guarded = False

    def current(self) -> list[Fact]:
        assert not self.guarded, "all facts were read"
        return super().current()

    def episodes(self) -> list[Episode]:
        assert not self.guarded, "all episodes were read"
        return super().episodes()

    def entities(self) -> list[str]:
        assert not self.guarded, "all entities were read"
        return super().entities()

    def changes(self) -> Iterator[StepChange]:
        assert not self.guarded, "all steps were read"
        return super().changes()


@pytest.mark.parametrize("merge_entities", [False, True])
def test_learning_and_searching_never_read_the_whole_graph(merge_entities: bool) -> None:
    store = NoWholeReads()
    engine = ScriptedEngine({"extract": [LOCKER, TAKEN], "outdated": ["E1>N1"]})
    settings = MemorySettings(merge_entities=merge_entities)
    memory = AriGraph(engine, WordEmbedder(), store, settings=settings)
    memory.update("The locker holds a key and a note.", location="hall")
    store.guarded = True
    memory.update("You take key 1.", passage=Passage("hall", "west", "study"))
    memory.search(["key 1"], d=2)
    memory.map()
    store.guarded = False
    assert "key 1, is in, inventory" in {str(fact.triplet) for fact in memory.facts()}


def test_the_memory_offers_what_a_reader_asks(taking_the_key: Scripted, tmp_path: Path) -> None:
    memory = taking_the_key.memory
    memory.update("You take the key.")
    assert [item.interval.end for item in memory.history("inventory")] == [None]
    assert [str(fact.triplet) for fact in memory.diff(1, 2).retired] == ["key 1, is in, locker"]
    assert memory.export(tmp_path / "graph.graphml") == [tmp_path / "graph.graphml"]


def test_the_memory_needs_no_game(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["textworld"] = None
sys.path.insert(0, sys.argv[1])
from word_embedder import WordEmbedder
from arigraph_local import AriGraph, KuzuStore, ScriptedEngine
engine = ScriptedEngine({"extract": ['[["key", "is in", "box"]]']})
with AriGraph(engine, WordEmbedder(), KuzuStore()) as memory:
    memory.update("A key in a box.")
    print(memory.search(["key"]).facts[0].fact.triplet, memory.map().destinations("box"))
"""
    tests = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, tests], capture_output=True, text=True, check=True
    )
    assert done.stdout == "key, is in, box {}\n"
