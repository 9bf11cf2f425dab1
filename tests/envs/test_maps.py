from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.envs.maps import OPPOSITE, RoomMap, grow_map


@given(st.integers(1, 40), st.integers(0, 1), st.integers(0, 10**6))
def test_maps_are_connected_with_the_cycles_asked_for(rooms: int, cycles: int, seed: int) -> None:
    if rooms < 4:
        cycles = 0
    grown = grow_map(Random(seed), rooms, cycles)
    assert len(grown.connections) == rooms - 1 + cycles
    for room in range(rooms):
        here = 0
        for direction in grown.route(0, room):
            here = grown.exits[here][direction]
        assert here == room
        for direction, neighbour in grown.exits[room].items():
            assert grown.exits[neighbour][OPPOSITE[direction]] == room


def test_same_seed_same_map() -> None:
    assert grow_map(Random(5), 16, 2) == grow_map(Random(5), 16, 2)
    assert grow_map(Random(5), 16, 2) != grow_map(Random(6), 16, 2)


def test_routes_are_shortest() -> None:
    square = RoomMap(
        (
            {"east": 1, "south": 3},
            {"west": 0, "south": 2},
            {"north": 1, "west": 3},
            {"north": 0, "east": 2},
        )
    )
    assert square.route(0, 3) == ("south",)
    assert len(square.route(0, 2)) == 2
    assert square.route(1, 1) == ()
    with pytest.raises(ValueError, match="no way"):
        RoomMap(({}, {})).route(0, 1)


def test_too_many_cycles_are_refused() -> None:
    with pytest.raises(ValueError, match="9 cycles do not fit in a map of 4 rooms"):
        grow_map(Random(0), 4, 9)
