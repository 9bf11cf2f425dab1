"""Passages, exits and routes from triplets as models write them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from graphs import write
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.memory.graph.store import Retirement, StepChange, Store
from arigraph_local.memory.spatial.directions import (
    DIRECTIONS,
    direction_of,
    may_be_spatial,
    read_spatial,
)
from arigraph_local.memory.spatial.spatial_map import SpatialFacts, SpatialMap, direction_triplets
from arigraph_local.memory.triplet import Triplet, make_triplet

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "gpt4_runs"
ROOMS = {"room a", "room b", "room c", "kitchen", "north hall"}


def triplet(subject: str, relation: str, object_: str) -> Triplet:
    made = make_triplet(subject, relation, object_)
    assert made is not None
    return made


def spatial(*rows: tuple[str, str, str], rooms: set[str] | None = ROOMS) -> SpatialMap:
    return SpatialMap([triplet(*row) for row in rows], rooms)


@pytest.mark.parametrize(
    "row",
    [
        ("Room B", "is west of", "Room A"),
        ("room b", "west of", "room a"),
        ("room b", "is to the west of", "room a"),
        ("room b", "is located directly west of", "room a"),
        ("room b", "is on the west side of", "room a"),
        ("room b", "is westward from", "room a"),
        ("room a", "leads west to", "room b"),
        ("room a", "has exit west to", "room b"),
        ("room a", "has exit west", "room b"),
        ("room a", "has an open door to the west leading to", "room b"),
        ("west exit of room a", "leads to", "room b"),
        ("exit west of the room a", "leads to", "room b"),
        ("room b", "west_of", "room a"),
        ("room b", "isWestOf", "room a"),
        ("room b", "is_located_to_the_west_of", "room a"),
        ("room a", "west exit leads to", "room b"),
        ("room a", "has west exit to", "room b"),
        ("room a", "hasWestExitTo", "room b"),
        ("room a", "leads_west_to", "room b"),
        ("room a", "to the west is", "room b"),
        ("room a", "on the west side lies", "room b"),
        ("room a", "is connected on the west to", "room b"),
        ("room a", "is connected to", "room b on the west"),
        ("room a", "leads to", "room b to the west"),
        ("room a", "leads_to", "the room b (west)"),
        ("room a", "connectedTo", "room b, to the west side"),
        ("room a", "has exit to the west", "leading to room b"),
        ("room a", "has exit west", "which leads to the room b"),
        ("room a", "has west exit", "to room b"),
    ],
)
def test_a_passage_as_models_write_it(row: tuple[str, str, str]) -> None:
    graph = spatial(row)
    assert graph.passages("room a") == {"west": "room b"}
    assert graph.passages("room b") == {}, "the way back needs its own triplet"
    assert graph.unexplored_exits("room a") == ()


@pytest.mark.parametrize(
    "row",
    [
        ("room a", "has exit", "west"),
        ("room a", "has exit", "West."),
        ("room a", "has an unexplored exit", "west"),
        ("room a", "has exit to the:", "west"),
        ("room a", "has exits", "to the west"),
        ("room a", "exit", "west"),
        ("room a", "has unblocked exit", "w"),
        ("room a", "has", "west exit"),
        ("room a", "has", "an unguarded exit in the west"),
        ("room a", "has entranceway", "western"),
        ("room a", "leads to", "west"),
        ("room a", "has exit west", "unblocked"),
        ("room a", "has exit west to", "unknown room"),
        ("west exit", "is in", "room a"),
        ("unexplored exit west", "is an exit of", "room a"),
        ("west exit of room a", "is", "unblocked"),
        ("room a", "has exit:", "west"),
        ("room a", "hasExit", "west"),
        ("room a", "has_exit", "west"),
        ("room a", "exit to the", "west"),
        ("room a", "has", "exit to the west"),
        ("room a", "has west exit", "unguarded"),
        ("room a", "hasWestExit", "yes"),
        ("room a", "is unguarded", "west"),
        ("room a", "has exit to the west", "leading to somewhere"),
        ("room a", "leads to", "dark tunnel to the west"),
    ],
)
def test_an_exit_as_models_write_it(row: tuple[str, str, str]) -> None:
    graph = spatial(row)
    assert graph.exits("room a") == ("west",)
    assert graph.unexplored_exits("room a") == ("west",)
    assert graph.passages("room a") == {}


@pytest.mark.parametrize(
    "row",
    [
        ("room a", "has no exit", "west"),
        ("room a", "has locked exit", "west"),
        ("room b", "is not west of", "room a"),
        ("room b", "may be west of", "room a"),
        ("room b", "is far north or west of", "room a"),
        ("room a", "contains", "west"),
        ("room a", "is", "west"),
        ("kitchen", "leads to", "north hall"),
        ("kitchen", "is in", "room a"),
        ("key 1", "is west of", "room a"),
        ("table", "has exit", "west"),
        ("score", "has gone up by", "one point"),
        ("wall", "opens up to reveal", "toolbox"),
        ("west exit", "leads to", "room a"),
        ("south exit", "is unblocked", "none"),
        ("west exit", "is, unguarded", "true"),
        ("room a", "to the west is", "table"),
        ("kitchen", "is connected to", "room b on the table"),
        ("room a", "is unguarded", "room b"),
        ("room a", "is", "unguarded"),
        ("room a", "within", "west"),
        ("room a", "is west is", "kitchen table"),
        ("table", "leads to", "room b to the west"),
    ],
)
def test_what_is_no_passage_and_no_exit(row: tuple[str, str, str]) -> None:
    graph = spatial(row)
    assert {room: graph.exits(room) for room in ROOMS} == dict.fromkeys(ROOMS, ())


def test_several_directions_in_one_exit() -> None:
    graph = spatial(("kitchen", "has exits", "south, north-east and up"))
    assert graph.exits("kitchen") == ("northeast", "south", "up")


def test_an_exit_is_explored_once_a_passage_in_its_direction_is_known() -> None:
    graph = spatial(
        ("room a", "has exit", "west"),
        ("room a", "has exit", "north"),
        ("room b", "is west of", "room a"),
        ("table", "is north of", "room a"),
    )
    assert graph.exits("room a") == ("north", "west")
    assert graph.unexplored_exits("room a") == ("north",)
    assert graph.passage("room a", "west") == "room b"
    assert graph.passage("room a", "north") is None


def test_without_room_names_every_name_may_be_a_room() -> None:
    rows = [("room y", "is west of", "room x"), ("room y", "leads down to", "cellar")]
    graph = SpatialMap(triplet(*row) for row in rows)
    assert graph.route("room x", "cellar") == ["west", "down"]
    assert spatial(*rows).route("room x", "cellar") is None


def test_the_latest_of_contradicting_facts_holds() -> None:
    graph = spatial(("room b", "is west of", "room a"), ("room c", "is west of", "room a"))
    assert graph.passages("room a") == {"west": "room c"}
    assert graph.route("room a", "room b") is None
    graph = spatial(("room b", "is north of", "room a"), ("room b", "is west of", "room a"))
    assert graph.route("room a", "room b") == ["west"]
    graph = spatial(
        ("room b", "is west of", "room a"),
        ("room b", "is north of", "room a"),
        ("room a", "leads west to", "room b"),
    )
    assert graph.route("room a", "room b") == ["west"]


def learned_again() -> Store:
    """Room b lies west, then room c does, then room b again, then both are told again."""
    first, second = "room b, is west of, room a", "room c, is west of, room a"
    store = ReferenceStore()
    write(store, 1, [first])
    write(store, 2, [second], {first: second})
    write(store, 3, [first], {second: first})
    write(store, 4, [second])
    write(store, 5, [first])
    return store


def test_the_latest_learning_holds_also_of_a_fact_learned_again_after_it_was_retired() -> None:
    store = learned_again()
    assert SpatialFacts(store).map(ROOMS).passages("room a") == {"west": "room c"}
    write(store, 6, ["lamp, is in, room a"])
    first, second = "room b, is west of, room a", "room c, is west of, room a"
    facts = SpatialFacts(store)
    outcome = store.apply(change(store, 7, [second, "room c, is east of, room b"], first))
    facts.retire(outcome.retired)
    facts.learn(outcome.added)
    assert facts.map(ROOMS).passages("room a") == {"west": "room c"}
    outcome = store.apply(change(store, 8, [first]))
    facts.learn(outcome.added)
    assert facts.map(ROOMS).passages("room a") == {"west": "room b"}
    assert SpatialFacts(store).map(ROOMS).passages("room a") == {"west": "room b"}


def change(store: Store, step: int, learned: list[str], retired: str = "") -> StepChange:
    gone = store.find(triplet(*retired.split(", "))) if retired else None
    texts = [triplet(*text.split(", ")) for text in learned]
    return StepChange(step, "", texts, [Retirement(gone.id, texts[0], "moved")] if gone else [])


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.sampled_from(["north", "west"]), st.integers(0, 3)),
            max_size=3,
        ),
        max_size=6,
    )
)
def test_following_a_graph_gives_the_map_that_reading_it_gives(
    steps: list[list[tuple[int, str, int]]],
) -> None:
    """Each step retires the oldest current fact, if it learns anything else."""
    store = ReferenceStore()
    followed = SpatialFacts(store)
    for step, moves in enumerate(steps, start=1):
        learned = [Triplet(f"room {a}", f"is {way} of", f"room {b}") for a, way, b in moves]
        gone = [fact for fact in store.current() if fact.triplet not in learned][:1]
        retired = [Retirement(fact.id, learned[0], "") for fact in gone if learned]
        outcome = store.apply(StepChange(step, "", learned, retired))
        followed.retire(outcome.retired)
        followed.learn(outcome.added)
    one, other = followed.map(None), SpatialFacts(store).map(None)
    for room in (f"room {number}" for number in range(4)):
        assert one.passages(room) == other.passages(room)
        assert one.destinations(room) == other.destinations(room)


def test_a_map_costs_the_spatial_facts_alone() -> None:
    store = ReferenceStore()
    write(store, 1, ["room b, is west of, room a", *(f"key {n}, is in, box" for n in range(50))])
    facts = SpatialFacts(store)
    with patch(
        "arigraph_local.memory.spatial.spatial_map._statement", wraps=lambda *_: None
    ) as read:
        facts.map(ROOMS)
    assert read.call_count == 1


def test_routes_are_shortest_and_one_way_passages_stay_one_way() -> None:
    graph = spatial(
        ("b", "is north of", "a"),
        ("c", "is north of", "b"),
        ("d", "is east of", "a"),
        ("c", "is up of", "d"),
        ("e", "is in of", "c"),
        rooms=None,
    )
    assert graph.route("a", "c") == ["north", "north"]
    assert graph.route("a", "e") == ["north", "north", "in"]
    assert graph.route("a", "a") == []
    assert graph.route("c", "a") is None
    assert graph.route("a", "nowhere") is None
    assert graph.route("nowhere", "a") is None
    assert graph.destinations("a") == {
        "b": ["north"],
        "d": ["east"],
        "c": ["north", "north"],
        "e": ["north", "north", "in"],
    }


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("go west", "west"),
        ("N", "north"),
        ("north-east", "northeast"),
        ("South East", "southeast"),
        ("go upstairs", "up"),
        ("go outside", "out"),
        ("go to kitchen", None),
        ("take key", None),
        ("", None),
    ],
)
def test_the_direction_of_a_move(text: str, direction: str | None) -> None:
    assert direction_of(text) == direction


@pytest.mark.skipif(not RUNS.is_dir(), reason="the published runs (shared/data) are not here")
def test_every_direction_in_the_published_runs_is_read_where_a_room_is_named() -> None:
    """Left unread are only exits that do not say whose they are, and what went `up` or opened."""
    compass = set(DIRECTIONS) - {"up", "down", "in", "out"}
    unread = set()
    for path in sorted(RUNS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            rows = [json.loads(line) for line in lines]
        told = {tuple(item) for row in rows for item in row["new_triplets"] + (row["graph"] or [])}
        for item in filter(None, (make_triplet(*parts) for parts in told)):
            if compass & set(str(item).replace(",", "").split()) and not read_spatial(item, None):
                unread.add(item.subject)
    assert all(re.fullmatch(r"(\w+ )?(exit|entranceway)( \w+)?", name) for name in unread), unread


def test_a_move_adds_the_papers_two_triplets() -> None:
    assert direction_triplets("Room A", "west", "Room B") == (
        Triplet("room b", "is west of", "room a"),
        Triplet("room a", "is east of", "room b"),
    )
    assert direction_triplets("room a", "west", "room a") == ()
    assert direction_triplets("room a", "sideways", "room b") == ()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(list(DIRECTIONS)), st.integers(0, 5))))
def test_every_route_walks_through_known_passages_to_its_end(
    moves: list[tuple[int, str, int]],
) -> None:
    walked = [
        made
        for start, direction, end in moves
        for made in direction_triplets(f"room {start}", direction, f"room {end}")
    ]
    graph = SpatialMap(walked)
    for start, direction, end in moves[-1:]:
        if start != end:
            assert graph.passage(f"room {start}", direction) == f"room {end}"
            assert graph.passage(f"room {end}", DIRECTIONS[direction]) == f"room {start}"
    for origin in (f"room {number}" for number in range(6)):
        for destination, route in graph.destinations(origin).items():
            assert route == graph.route(origin, destination)
            room = origin
            for step in route:
                room = graph.passages(room)[step]
            assert room == destination


@pytest.mark.skipif(not RUNS.is_dir(), reason="the published runs (shared/data) are not here")
@pytest.mark.parametrize("game", ["hunt", "hunt_hard", "cook"])
def test_the_maps_of_the_published_runs_are_read_whole(game: str) -> None:
    """Every passage and exit of GPT-4's graphs is read, and nothing else as a passage."""
    with gzip.open(RUNS / f"{game}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    graphs = [row["graph"] for row in rows if row["graph"]]
    assert graphs
    for graph in graphs[-3:]:
        made = [item for row in graph if (item := make_triplet(*row)) is not None]
        stated = [item for item in made if item.relation.endswith(" of")]
        rooms = {name for item in stated for name in item.entities}
        known = SpatialMap(made, rooms)
        links = {(room, end) for room in rooms for end in known.passages(room).values()}
        assert links == {(item.object, item.subject) for item in stated}
        exits = {
            (item.subject, item.object)
            for item in made
            if item.relation == "has exit" and item.object in DIRECTIONS and item.subject in rooms
        }
        assert exits <= {(room, way) for room in rooms for way in known.exits(room)}


WORDS = st.lists(
    st.sampled_from(
        ["room", "a", "is", "west", "of", "exit", "to", "leads", "the", "on", "has", "in", "lies"]
    ),
    min_size=1,
    max_size=4,
).map(" ".join)


@settings(deadline=None, max_examples=300)
@given(WORDS, WORDS, WORDS, st.sampled_from([None, True, False]))
def test_what_is_quickly_refused_would_not_have_been_read(
    subject: str, relation: str, object_: str, is_room: bool | None
) -> None:
    made = make_triplet(subject, relation, object_)
    if made is not None and not may_be_spatial(made):
        assert read_spatial(made, is_room) is None


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_asked_for_directions(subject: str, relation: str, object_: str) -> None:
    read_spatial(Triplet(subject, relation, object_), None)
