"""Squares of a dungeon level, and the eight compass directions between them.

A square is one number, `row * WIDTH + column`, so that a whole level is one `bytes`.
"""

from __future__ import annotations

from typing import TypeAlias

HEIGHT, WIDTH = 21, 79
SQUARES = HEIGHT * WIDTH

Square: TypeAlias = int

STEPS = {
    "north": (-1, 0),
    "south": (1, 0),
    "east": (0, 1),
    "west": (0, -1),
    "northeast": (-1, 1),
    "northwest": (-1, -1),
    "southeast": (1, 1),
    "southwest": (1, -1),
}
"""Direction -> (rows, columns). Straight ones first: of two equal ways the straighter is walked."""

KEYS = {
    "north": "k",
    "south": "j",
    "east": "l",
    "west": "h",
    "northeast": "u",
    "northwest": "y",
    "southeast": "n",
    "southwest": "b",
}
"""Direction -> the key that moves there."""

COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")


def square_at(row: int, column: int) -> Square:
    """The square of a row and a column, both counted from 0."""
    return row * WIDTH + column


def row_of(square: Square) -> int:
    """The row of a square; row 0 is the northernmost."""
    return square // WIDTH


def column_of(square: Square) -> int:
    """The column of a square; column 0 is the westernmost."""
    return square % WIDTH


def towards(square: Square, direction: str) -> Square | None:
    """The next square in a direction, or None at the edge of the level."""
    rows, columns = STEPS[direction]
    row, column = row_of(square) + rows, column_of(square) + columns
    return square_at(row, column) if 0 <= row < HEIGHT and 0 <= column < WIDTH else None


def _neighbours(square: Square, directions: tuple[str, ...]) -> tuple[Square, ...]:
    found = (towards(square, direction) for direction in directions)
    return tuple(neighbour for neighbour in found if neighbour is not None)


_STRAIGHT = ("north", "south", "east", "west")

NEIGHBOURS = tuple(_neighbours(square, tuple(STEPS)) for square in range(SQUARES))
"""The up to eight squares around each square."""

STRAIGHT_NEIGHBOURS = tuple(_neighbours(square, _STRAIGHT) for square in range(SQUARES))
"""The up to four squares that share a side with each square."""


def is_diagonal(square: Square, neighbour: Square) -> bool:
    """Whether a step between two neighbours is diagonal."""
    return row_of(square) != row_of(neighbour) and column_of(square) != column_of(neighbour)


def distance(one: Square, other: Square) -> int:
    """Steps between two squares if nothing is in the way."""
    return max(abs(row_of(one) - row_of(other)), abs(column_of(one) - column_of(other)))


def direction_to(start: Square, end: Square) -> str:
    """The nearest of the eight directions from one square to another, different one."""
    rows, columns = row_of(end) - row_of(start), column_of(end) - column_of(start)
    # A line that rises less than one in two counts as level.
    vertical = "" if 2 * abs(rows) < abs(columns) else "south" if rows > 0 else "north"
    horizontal = "" if 2 * abs(columns) < abs(rows) else "east" if columns > 0 else "west"
    return vertical + horizontal


def in_compass_order(directions: set[str]) -> list[str]:
    """Directions clockwise from north."""
    return [direction for direction in COMPASS if direction in directions]
