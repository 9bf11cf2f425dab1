"""The 135M model that tests run, and grammars for it."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from arigraph_local.llm.engine import Message

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SYSTEM = Message("system", "You list facts as: thing, relation, thing.")
USER = Message("user", "You are in the hall. A red key is on the table.")
TRIPLETS = """root ::= "[" (triplet ("; " triplet){0,3})? "]"
triplet ::= name ", " name ", " name
name ::= [a-z] [a-z ]{0,11}
"""
ACTIONS = 'root ::= "I should " ("go " ("north" | "south") | "take the " ("key" | "lamp"))'
NESTED = 'root ::= "(" root* ")"'
GRAMMARS = (None, TRIPLETS, ACTIONS, NESTED)


def model_path() -> Path:
    """The model's file; the test is skipped where it was not fetched."""
    folders = [platformdirs.user_data_path("arigraph-local") / "models"]
    if named := os.environ.get("ARIGRAPH_MODELS"):
        folders.insert(0, Path(named))
    for folder in folders:
        if (folder / MODEL_FILE).is_file():
            return folder / MODEL_FILE
    pytest.skip(f"{MODEL_FILE} is not there: arigraph models fetch smollm2-135m")
