"""Arrays that grow by doubling."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

_Number = TypeVar("_Number", bound=np.generic)


def with_room(array: npt.NDArray[_Number], rows: int) -> npt.NDArray[_Number]:
    """`array` if it has `rows` rows, else a copy of at least twice its length, zeros at the end."""
    if rows <= len(array):
        return array
    grown = np.zeros((max(rows, 2 * len(array), 64), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
