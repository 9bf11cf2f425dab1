"""The errors a user can meet, each with a message made to be read on its own.

The command line prints the message as one line and exits with `exit_code`:
2 when what the user asked for cannot be done as written, 1 when it failed on the way.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ArigraphError(Exception):
    """Something failed on the way; the message names the file, field or value."""

    exit_code = 1


class UsageError(ArigraphError):
    """The request itself is wrong: an unknown name, a bad value, a bad config file."""

    exit_code = 2


class ModelFileError(ArigraphError):
    """A model file is missing, truncated, of another format, or has the wrong checksum."""


class ContextOverflowError(ArigraphError):
    """One request needs more tokens than the context holds."""


class GameError(ArigraphError):
    """A game cannot be built, loaded or replayed."""


class RunError(ArigraphError):
    """A run folder cannot be written, read or resumed."""


class GraphError(RunError):
    """A graph's files are damaged, of another format, or no graph: it must be rebuilt."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """A `UsageError` for a name that does not exist, with the nearest known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    near += [known for known in names if name and name in known and known not in near][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} '{name}': {hint}")
