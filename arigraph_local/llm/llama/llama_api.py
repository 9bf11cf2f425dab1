"""llama.cpp's low-level API (`api`), set up: threads that wait politely, a log off the terminal."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Any

# OpenMP reads this once, when the library is loaded. By default threads that wait for each other
# spin for milliseconds; with another process on the same cores one token then takes ten times as
# long. With a short spin it does not, and on idle cores nothing is lost.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from llama_cpp import llama_cpp as api

__all__ = ["api", "first_log_error", "forget_log_errors", "start_backend"]

_ERROR_LEVEL = 4
_errors: list[str] = []


@api.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _data: Any) -> None:
    if level == _ERROR_LEVEL:
        del _errors[8:]
        _errors.append(" ".join(text.decode(errors="replace").split()))


@lru_cache(maxsize=1)
def start_backend() -> None:
    """Start llama.cpp once and keep its log off the terminal."""
    api.llama_log_set(_on_log, ctypes.c_void_p(None))
    api.llama_backend_init()


def first_log_error() -> str:
    """The first error llama.cpp logged since `forget_log_errors`: the cause of those after it."""
    return next((line for line in _errors if line), "llama.cpp gave no reason")


def forget_log_errors() -> None:
    """Start collecting error lines afresh."""
    _errors.clear()
