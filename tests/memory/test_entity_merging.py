"""Near-duplicate entities: merged by spelling and meaning together, remembered, kept apart."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from graphs import content, triplet
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.memory.arigraph import AriGraph, MemoryUpdate
from arigraph_local.memory.graph.kuzu_store import KuzuStore
from arigraph_local.memory.graph.rebuilding import EVERY_NAME, rebuild
from arigraph_local.memory.graph.store import StepChange, Store
from arigraph_local.memory.learning.entity_merging import EntityMerging, Merged, Merging
from arigraph_local.memory.search.embedder import Vectors
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.spatial.spatial_map import Passage


class LetterEmbedder:
    """Texts by their letters, so that spellings are similar; `strange` texts resemble nothing."""

    name = "letters"
    threshold = 0.0

    def __init__(self, *strange: str) -> None:
        self.strange = strange
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded.extend(texts)
        rows = np.full((len(texts), 40), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text in self.strange:
                row[30 + self.strange.index(text)] = 9
            for letter in text if text not in self.strange else "":
                row[string.ascii_lowercase.find(letter)] += 1
        return rows


def merging(
    *known: str, apart: Sequence[str] = (), embedder: LetterEmbedder | None = None, **more: float
) -> EntityMerging:
    settings = MemorySettings.model_validate({"keep_apart": tuple(apart), **more})
    return EntityMerging(TextVectors(embedder or LetterEmbedder()), settings, names=known)


def merged(result: Merging) -> list[tuple[str, str]]:
    return [(item.alias, item.name) for item in result.merged]


def test_a_new_name_spelt_like_a_known_one_is_taken_for_it() -> None:
    result = merging("carrot", "fridge").merge([triplet("carrots, is in, fridge")], ())
    assert result.triplets == (triplet("carrot, is in, fridge"),)
    assert result.wordings == {triplet("carrot, is in, fridge"): triplet("carrots, is in, fridge")}
    (found,) = result.merged
    assert found == Merged("carrots", "carrot", found.similarity, 12 / 13)
    assert 0.9 < found.similarity <= 1


def test_spelling_alone_and_meaning_alone_are_not_enough() -> None:
    alike = merging("statue", embedder=LetterEmbedder("statute"))
    assert merged(alike.merge([triplet("statute, is in, hall")], ())) == []
    near = merging("locker a", "red key")
    told = [triplet("locker b, is in, hall"), triplet("read key, is in, hall")]
    assert merged(near.merge(told, ())) == []


def test_names_that_differ_in_a_number_are_not_even_embedded() -> None:
    embedder = LetterEmbedder()
    names = [f"key {number}" for number in range(50)]
    result = merging(*names, embedder=embedder).merge([triplet("key 51, is in, hall")], ())
    assert merged(result) == []
    assert embedder.embedded == []


def test_a_known_name_is_never_merged() -> None:
    told = [triplet("carrots, is in, fridge")]
    assert merging("carrot", "carrots").merge(told, ()).triplets == tuple(told)


def test_names_used_side_by_side_are_two_things() -> None:
    told = [triplet("carrot, is in, fridge"), triplet("carrots, is on, table")]
    assert merged(merging("carrot").merge(told, ())) == []
    assert merged(merging("carrot").merge([triplet("carrots, is near, carrot")], ())) == []


def test_two_new_names_of_one_observation_do_not_become_the_same() -> None:
    told = [triplet("carrots, is in, fridge"), triplet("carrott, is in, fridge")]
    assert merged(merging("carrot").merge(told, ())) == [("carrots", "carrot")]


def test_the_best_candidate_is_nearest_in_meaning_then_spelling_then_oldest() -> None:
    near = merging("lockerr", "llocker", merge_similarity=0.5)
    assert merged(near.merge([triplet("locker, is in, hall")], ())) == [("locker", "lockerr")]
    strange = merging("lockerr", "llocker", embedder=LetterEmbedder("lockerr"))
    assert merged(strange.merge([triplet("locker, is in, hall")], ())) == [("locker", "llocker")]


def test_a_merged_name_stays_merged_and_is_reported_once() -> None:
    memory = merging("carrot")
    memory.merge([triplet("carrots, is in, fridge")], ())
    again = memory.merge([triplet("carrots, is, raw")], ())
    assert again.triplets == (triplet("carrot, is, raw"),)
    assert again.merged == ()


def test_what_the_observation_also_says_in_the_known_words_has_no_other_wording() -> None:
    memory = merging("carrot")
    memory.merge([triplet("carrots, is in, fridge")], ())
    both = memory.merge([triplet("carrots, is, raw"), triplet("carrot, is, raw")], ())
    assert (both.triplets, both.wordings) == ((triplet("carrot, is, raw"),), {})


def test_a_merge_that_makes_a_self_loop_leaves_the_triplet_out_and_says_so() -> None:
    memory = merging("carrot")
    memory.merge([triplet("carrots, is in, fridge")], ())
    looped = memory.merge([triplet("carrots, is near, carrot")], ())
    assert looped.triplets == ()
    assert [item.text for item in looped.rejected] == ["carrots, is near, carrot"]


def test_names_to_keep_apart_are_neither_merged_nor_merged_into() -> None:
    told = [triplet("carrots, is in, fridge")]
    for name in ("Carrot", "the carrots"):
        assert merged(merging("carrot", apart=[name]).merge(told, ())) == []


def test_the_name_of_a_visited_place_is_the_games_own_and_never_changed() -> None:
    told = [triplet("cellars, has exit, north")]
    assert merged(merging("cellar").merge(told, {"cellars"})) == []
    assert merged(merging("cellar").merge(told, {"cellar"})) == [("cellars", "cellar")]


def test_aliases_come_back_from_the_steps_of_a_graph() -> None:
    learned, told = triplet("carrot, is, raw"), triplet("roots, is, raw")
    changes = [StepChange(1, "", [learned], (), {learned: told})]
    vectors = TextVectors(LetterEmbedder())
    memory = EntityMerging(vectors, MemorySettings(), names=["carrot", "raw"], changes=changes)
    assert memory.merge([told], ()).triplets == (learned,)


class Remembering:
    """An AriGraph that extracts what it is told."""

    def __init__(self, store: Store, **settings: object) -> None:
        self.store = store
        self.engine = ScriptedEngine({"extract": self._extract, "outdated": lambda _: "E1>N1"})
        self.memory = AriGraph(
            self.engine,
            LetterEmbedder(),
            store,
            settings=MemorySettings.model_validate({"merge_entities": True} | settings),
        )

    def told(self, *texts: str, passage: Passage | None = None) -> MemoryUpdate:
        self.texts = texts
        return self.memory.update(". ".join(texts) or "Nothing.", passage=passage)

    def current(self) -> set[str]:
        return {str(fact.triplet) for fact in self.memory.facts()}

    def _extract(self, _: object) -> str:
        return json.dumps([text.split(", ") for text in self.texts])


def test_a_fact_under_another_spelling_is_outdated_by_the_merged_one() -> None:
    told = Remembering(KuzuStore())
    told.told("carrots, is in, fridge")
    update = told.told("carrot, is in, inventory")
    assert [item.alias for item in update.merged] == ["carrot"]
    assert [str(pair.fact.triplet) for pair in update.retired] == ["carrots, is in, fridge"]
    assert told.current() == {"carrots, is in, inventory"}
    assert update.wordings == {
        triplet("carrots, is in, inventory"): triplet("carrot, is in, inventory")
    }


def test_without_the_setting_names_are_compared_as_they_are() -> None:
    told = Remembering(KuzuStore(), merge_entities=False)
    told.told("carrots, is in, fridge")
    update = told.told("carrot, is in, inventory")
    assert (update.merged, update.wordings) == ((), {})
    assert len(told.current()) == 2


def test_a_move_keeps_the_games_words_where_the_model_misspelt_them() -> None:
    told = Remembering(KuzuStore())
    told.told("kitchen, has exit, north")
    update = told.told("kitchens, is south of, hall", passage=Passage("kitchen", "north", "hall"))
    assert triplet("kitchen, is south of, hall") in update.learned
    assert update.wordings == {}


def test_an_alias_holds_after_the_graph_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    told = Remembering(KuzuStore(path))
    told.told("carrots, is in, fridge")
    told.told("carrot, is, raw")
    told.memory.close()
    again = Remembering(KuzuStore(path))
    update = again.told("carrot, is, sliced")
    again.memory.close()
    assert update.learned == (triplet("carrots, is, sliced"),)
    assert update.merged == ()


def test_provenance_tells_what_was_extracted() -> None:
    told = Remembering(KuzuStore())
    told.told("carrots, is in, fridge")
    told.told("carrot, is, raw")
    found = told.memory.provenance(triplet("carrots, is, raw"))
    assert found.wordings == {2: triplet("carrot, is, raw")}


PLACES = st.sampled_from(["fridge", "table", "box"])
STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["carrot", "carrots"]), PLACES, max_size=1),
        st.dictionaries(st.sampled_from(["lantern", "lanterns"]), PLACES, max_size=1),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=25)
@given(STEPS)
def test_undoing_every_merge_gives_the_graph_that_was_never_merged(
    steps: list[tuple[dict[str, str], dict[str, str]]],
) -> None:
    one, other, undone = ReferenceStore(), ReferenceStore(), ReferenceStore()
    plain = Remembering(one, merge_entities=False, detect_outdated=False)
    merging = Remembering(other, detect_outdated=False)
    for step in steps:
        texts = [f"{thing}, is in, {place}" for told in step for thing, place in told.items()]
        plain.told(*texts)
        merging.told(*texts)
    rebuild(other.changes(), undone, fact=other.fact, apart=EVERY_NAME)
    assert content(undone) == content(one)
    assert len({"carrot", "carrots"} & set(other.entities())) <= 1
