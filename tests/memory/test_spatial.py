"""Passages, exits and routes from triplets as models write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.memory.directions import DIRECTIONS, direction_of
from arigraph_local.memory.spatial import SpatialMap, direction_triplets
from arigraph_local.memory.store import Fact
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
    graph = SpatialMap.from_facts([Fact(number, triplet(*row)) for number, row in enumerate(rows)])
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
