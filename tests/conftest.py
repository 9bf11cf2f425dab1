"""Ends a test run in which Kùzu, ladybug and torch have met: only tests load all three."""

from __future__ import annotations

import os
import sys

import pytest

_exit_status = 0


def pytest_sessionfinish(exitstatus: int) -> None:
    global _exit_status
    _exit_status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    # The three libraries crash the interpreter while it takes itself down; all tests are over
    # then, and the status of the run would be lost.
    if {"kuzu", "ladybug", "torch"} <= sys.modules.keys():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_status)
