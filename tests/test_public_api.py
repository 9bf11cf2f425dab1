"""The public names: all there, imported when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import arigraph_local


def test_every_public_name_can_be_used() -> None:
    for name in arigraph_local.__all__:
        assert getattr(arigraph_local, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Arigraf"):
        _ = arigraph_local.Arigraf


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, arigraph_local; print([m for m in ('numpy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
