"""The outdated detector: what is offered to the model, what its answer may retire."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.learning.exclusive import excludes
from arigraph_local.memory.learning.outdated import Candidates, find_candidates, parse_pairs
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet

FREE = MemorySettings(structural_guard=False)
GUARDED = MemorySettings()


def triplet(text: str) -> Triplet:
    return Triplet(*text.split(", "))


def facts(*texts: str) -> list[Fact]:
    return [Fact(number, triplet(text)) for number, text in enumerate(texts, start=1)]


def offered(candidates: Candidates) -> list[tuple[str, str]]:
    return [
        (str(candidates.facts[fact].triplet), str(candidates.triplets[new]))
        for fact, triplets in candidates.pairs.items()
        for new in triplets
    ]


def candidates_of(
    incident: Sequence[Fact],
    new: Sequence[str],
    settings: MemorySettings = GUARDED,
    restated: Sequence[str] = (),
    places: Sequence[str] = (),
) -> Candidates:
    triplets = [triplet(text) for text in new]
    return find_candidates(
        incident,
        triplets,
        restated=[*triplets, *(triplet(text) for text in restated)],
        places=places,
        settings=settings,
    )


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("key 1, is in, inventory", "key 1, is in, white locker"),
        ("key 1, is in, inventory", "white locker, contains, key 1"),
        ("key 1, is in, inventory", "key 1, is on, floor"),
        ("key 1, in, inventory", "key 1, is located in, locker"),
        ("locker, is, open", "locker, is, locked"),
        ("carrot, is, fried", "carrot, is, raw"),
    ],
)
def test_another_place_or_state_of_the_same_thing_excludes_the_old(new: str, old: str) -> None:
    assert excludes(triplet(new), triplet(old))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("white locker, is, unlocked", "key 1, unlocks, white locker"),
        ("key 1, is in, inventory", "note 2, is in, white locker"),
        ("room a, has exit, west", "room a, has exit, east"),
        ("locker, is, open", "locker, is, white"),
        ("carrot, is, fried", "carrot, is, chopped"),
        ("room b, is west of, room a", "room b, is north of, room c"),
        ("locker, is, open", "door, is, closed"),
        ("locker, contains, key 1", "locker, contains, note 1"),
    ],
)
def test_what_can_be_true_together_is_kept(new: str, old: str) -> None:
    assert not excludes(triplet(new), triplet(old))


def test_taking_the_key_offers_its_old_place_and_nothing_else_of_the_locker() -> None:
    incident = facts(
        "key 1, is in, locker",
        "note 1, is in, locker",
        "key 1, unlocks, chest",
        "locker, is in, room a",
    )
    candidates = candidates_of(incident, ["key 1, is in, inventory"])
    assert offered(candidates) == [("key 1, is in, locker", "key 1, is in, inventory")]
    assert candidates.guarded["not exclusive"] == 1


def test_without_the_guard_every_linked_pair_is_offered() -> None:
    incident = facts("key 1, unlocks, chest", "lamp, is in, hall")
    candidates = candidates_of(incident, ["key 1, is in, inventory"], FREE)
    assert offered(candidates) == [("key 1, unlocks, chest", "key 1, is in, inventory")]


def test_a_fact_that_the_observation_restates_is_not_offered() -> None:
    incident = facts("key 1, is in, locker")
    candidates = candidates_of(
        incident, ["key 1, is in, inventory"], restated=["key 1, is in, locker"]
    )
    assert candidates.pairs == {}
    assert candidates.guarded == {"restatement": 1}


def test_an_edge_between_two_locations_is_never_offered() -> None:
    incident = facts("room b, is in, room a")
    candidates = candidates_of(
        incident, ["room b, is in, room c"], FREE, places=["room a", "room b"]
    )
    assert candidates.pairs == {}
    assert candidates.guarded == {"between locations": 1}


def test_of_too_many_facts_the_latest_are_offered() -> None:
    incident = facts(*(f"key 1, is in, box {n}" for n in range(5)))
    candidates = candidates_of(
        incident, ["key 1, is in, inventory"], MemorySettings(max_candidates=2)
    )
    assert [fact.id for fact in candidates.facts] == [4, 5]
    assert candidates.guarded["too many"] == 3


def test_only_offered_pairs_are_taken_and_one_for_each_fact() -> None:
    incident = facts("key 1, is in, locker", "door, is, locked")
    candidates = candidates_of(incident, ["key 1, is in, inventory", "door, is, open"])
    pairs = parse_pairs("E1>N1, E1>N2, E2>N2, E7>N1", candidates)
    assert [(pair.fact.id, str(pair.replacement)) for pair in pairs] == [
        (1, "key 1, is in, inventory"),
        (2, "door, is, open"),
    ]
    assert parse_pairs("none", candidates) == []


@given(st.text(alphabet="EN>0123456789, ") | st.text())
def test_no_reply_retires_what_was_not_offered(reply: str) -> None:
    incident = facts("key 1, is in, locker", "key 1, unlocks, chest")
    candidates = candidates_of(incident, ["key 1, is in, inventory"])
    for pair in parse_pairs(reply, candidates):
        assert pair.fact.id == 1
