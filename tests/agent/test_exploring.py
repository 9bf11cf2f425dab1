"""Exploration and routes from the graph alone (Algorithm 3)."""

from arigraph_local.agent.exploring import (
    destinations,
    frontiers,
)
from arigraph_local.memory.spatial.spatial_map import SpatialMap
from arigraph_local.memory.triplet import Triplet

ROOMS = {"room a", "room b", "room c"}
GRAPH = SpatialMap(
    [
        Triplet("room b", "is west of", "room a"),
        Triplet("room a", "is east of", "room b"),
        Triplet("room c", "is north of", "room b"),
        Triplet("room b", "is south of", "room c"),
        Triplet("room a", "has exit", "west"),
        Triplet("room a", "has exit", "south"),
        Triplet("room c", "has exit", "up"),
    ],
    ROOMS,
)


def test_exits_without_a_passage_are_frontiers_nearest_first() -> None:
    found = frontiers(GRAPH, "room a", ["go west", "take key"])
    assert [str(frontier) for frontier in found] == ["room a, south", "room c, up"]
    assert [frontier.distance for frontier in found] == [0, 2]


def test_the_exits_here_come_from_the_actions_too() -> None:
    found = frontiers(GRAPH, "room b", ["go west", "go north"])
    assert str(found[0]) == "room b, west"


def test_only_rooms_beyond_one_move_are_destinations() -> None:
    assert destinations(GRAPH, "room a") == ["room c"]
    assert destinations(GRAPH, "nowhere") == []


def test_a_frontier_far_away_is_an_action_that_walks_there_first() -> None:
    found = frontiers(GRAPH, "room a", ["go west"])
    assert [frontier.action for frontier in found] == ["go south", "explore up from room c"]
