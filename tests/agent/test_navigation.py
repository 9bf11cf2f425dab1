"""Walking by the map: routes, walks that end otherwise, doubted passages, maps by setting."""

from __future__ import annotations

import pytest
from three_rooms import ThreeRooms

from arigraph_local.agent.long_term_memory import (
    Cue,
    Emit,
    Experience,
    LongTermMemory,
    Recollection,
)
from arigraph_local.agent.navigation import Navigator, Ways
from arigraph_local.agent.settings import NavigationKind
from arigraph_local.events import Event
from arigraph_local.memory.spatial.spatial_map import Passage, SpatialMap
from arigraph_local.memory.triplet import Triplet

TRUE = (Triplet("study", "is west of", "hall"), Triplet("cellar", "is west of", "study"))
FALSE = Triplet("cellar", "is north of", "hall")
ROOMS = {"hall", "study", "cellar"}


class DrawnMap(LongTermMemory):
    """A memory that is nothing but a map."""

    def __init__(self, *triplets: Triplet) -> None:
        self._map = SpatialMap(triplets, ROOMS)

    def observe(self, experience: Experience, emit: Emit) -> None:
        return

    def recall(self, cue: Cue, emit: Emit) -> Recollection:
        return Recollection()

    def resume(self, experience: Experience, event: Event) -> None:
        return

    def map(self) -> SpatialMap:
        return self._map


def test_a_route_is_walked_move_by_move() -> None:
    game = ThreeRooms()
    hall = game.reset()
    navigator = Navigator(DrawnMap(*TRUE))
    assert navigator.ways(hall).goals == ("go to cellar",)
    route = navigator.route("go to Cellar", hall)
    assert route == ["west", "west"]
    walk = navigator.walk(route, hall, game.step)
    assert walk.arrived
    assert (walk.commands, walk.end.location) == (("go west", "go west"), "cellar")


def test_exploring_walks_to_the_room_and_through_the_exit() -> None:
    navigator = Navigator(DrawnMap(*TRUE, Triplet("cellar", "has exit", "down")))
    hall = ThreeRooms().reset()
    actions = [frontier.action for frontier in navigator.ways(hall).frontiers]
    assert actions == ["explore down from cellar"]
    assert navigator.route(actions[0], hall) == ["west", "west", "down"]


def test_a_passage_that_is_not_there_stops_the_walk_and_is_doubted() -> None:
    game = ThreeRooms()
    hall = game.reset()
    navigator = Navigator(DrawnMap(*TRUE, FALSE))
    route = navigator.route("go to cellar", hall)
    assert route == ["north"]
    walk = navigator.walk([*route, "west"], hall, game.step)
    assert not walk.arrived
    assert walk.commands == ("go north",)
    assert walk.doubted == Passage("hall", "north", "cellar")
    assert navigator.route("go to cellar", hall) == ["west", "west"]


def test_a_doubted_passage_is_trusted_again_once_it_is_walked() -> None:
    navigator = Navigator(DrawnMap(*TRUE))
    hall = ThreeRooms().reset()
    passage = Passage("hall", "west", "study")
    navigator.doubt(passage)
    assert navigator.route("go to study", hall) is None
    navigator.visited(hall, passage)
    assert navigator.route("go to study", hall) == ["west"]


@pytest.mark.parametrize(
    ("kind", "goals"), [("memory", ("go to cellar",)), ("walked", ()), ("off", ())]
)
def test_where_the_map_comes_from_is_a_setting(
    kind: NavigationKind, goals: tuple[str, ...]
) -> None:
    navigator = Navigator(DrawnMap(*TRUE), kind)
    assert navigator.ways(ThreeRooms().reset()).goals == goals


def test_the_walked_map_knows_what_was_walked_and_offered() -> None:
    game = ThreeRooms()
    now = game.reset()
    navigator = Navigator(None, "walked")
    navigator.visited(now, None)
    assert [frontier.action for frontier in navigator.ways(now).frontiers] == ["go west"]
    for origin, destination in (("hall", "study"), ("study", "cellar")):
        now = game.step("go west")
        navigator.visited(now, Passage(origin, "west", destination))
    assert navigator.ways(now) == Ways(("go to hall",), ())


def test_a_command_of_the_game_is_no_walk() -> None:
    navigator = Navigator(DrawnMap(*TRUE))
    hall = ThreeRooms().reset()
    for action in ("go west", "wait", "go to attic", "go to hall", "explore up from attic"):
        assert navigator.route(action, hall) is None
