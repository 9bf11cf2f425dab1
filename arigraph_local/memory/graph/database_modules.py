"""Importing the graph databases, so that both can be used in one process.

Kùzu and ladybug are built from the same sources. Imported the ordinary way, each makes its symbols
visible to every library loaded later and registers its classes under the same names: the second
one fails to import, and the process crashes at its end. Loaded as here both work; a process that
has torch beside both still crashes as it ends, when all is closed.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from arigraph_local.errors import UsageError

_EXTENSIONS = {"kuzu": "_kuzu", "ladybug": "_lbug"}
_BINDING_STATE = "__pybind11_internals"

_loading = threading.Lock()
_loaded: dict[str, ModuleType] = {}
_kept_state: list[dict[str, Any]] = []


def load_database_module(package: str) -> ModuleType:
    """The module `kuzu` or `ladybug`.

    Raises `UsageError` if it is not installed, cannot be loaded, or the other one was imported
    elsewhere in this process.
    """
    with _loading:
        if package not in _loaded:
            _loaded[package] = _load(package)
        return _loaded[package]


def _load(package: str) -> ModuleType:
    if package in sys.modules:
        return sys.modules[package]
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise UsageError(f"the graph database {package} is not installed: pip install {package}")
    foreign = [other for other in _EXTENSIONS if other in sys.modules and other not in _loaded]
    if foreign:
        raise UsageError(
            f"{package} cannot be loaded beside {foreign[0]}, which this process imported itself: "
            "use one of them, or open both with open_store"
        )
    try:
        if _loaded:
            with _own_binding_state():
                return _import_with_local_symbols(package, spec.submodule_search_locations)
        return _import_with_local_symbols(package, spec.submodule_search_locations)
    except ImportError as error:
        raise UsageError(f"the graph database {package} cannot be loaded: {error}") from error


def _import_with_local_symbols(package: str, folders: Any) -> ModuleType:
    # The package would load its extension with global symbols; it takes one that is there already.
    name = f"{package}.{_EXTENSIONS[package]}"
    spec = PathFinder.find_spec(name, folders)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module named '{name}'")
    extension = importlib.util.module_from_spec(spec)
    sys.modules[name] = extension
    try:
        spec.loader.exec_module(extension)
        return importlib.import_module(package)
    except BaseException:
        sys.modules.pop(name, None)
        sys.modules.pop(package, None)
        raise


@contextmanager
def _own_binding_state() -> Iterator[None]:
    """Give an extension that is loaded meanwhile a register of classes of its own."""
    places = (builtins.__dict__, _interpreter_state())
    hidden = [_take_binding_state(place) for place in places]
    try:
        yield
    finally:
        for place, state in zip(places, hidden, strict=True):
            # The extension still points at it: it must outlive the interpreter.
            _kept_state.append(_take_binding_state(place))
            place.update(state)


def _take_binding_state(place: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in place if isinstance(name, str) and name.startswith(_BINDING_STATE)]
    return {name: place.pop(name) for name in names}


def _interpreter_state() -> dict[str, Any]:
    get = ctypes.pythonapi.PyInterpreterState_Get
    get.restype = ctypes.c_void_p
    get_dict = ctypes.pythonapi.PyInterpreterState_GetDict
    get_dict.restype = ctypes.py_object
    get_dict.argtypes = [ctypes.c_void_p]
    state: dict[str, Any] = get_dict(get())
    return state
