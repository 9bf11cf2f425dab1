"""Runs of `ThreeRooms` with scripted replies, for tests of memories."""

from __future__ import annotations

from pathlib import Path

import three_rooms_script as script
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.config import make_config
from arigraph_local.events import ModelCalled, Recalled
from arigraph_local.llm.scripted import Script, ScriptedEngine
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

GAME = "three-rooms"


def folder_of(path: Path, memory: str, **settings: object) -> RunFolder:
    """A new run; `settings` are of the memory."""
    values: dict[str, object] = {"game": GAME, "memory.name": memory, "agent.history": 2}
    if memory == "reflexion":
        values["memory.lessons"] = ["Look into the study."]
    values |= {f"memory.{name}": value for name, value in settings.items()}
    return RunFolder.create(path, make_config(values | {"agent.navigation": "walked"}))


def gear(replies: dict[str, Script] | None = None, steps: int = 20) -> Equipment:
    engine = ScriptedEngine(script.REPLIES | (replies or {}))
    return Equipment(engine, WordEmbedder(), ThreeRooms(), GAME, steps)


def recalled(memory: str, path: Path, **settings: object) -> list[Recalled]:
    """What was recalled in each step of a whole run."""
    folder = folder_of(path / "run", memory, **settings)
    run_episode(folder, gear())
    return [event for event in read_events(folder.path) if isinstance(event, Recalled)]


def prompts(folder: RunFolder, *tasks: str) -> list[str]:
    """The prompts of these tasks, as sent."""
    calls = [event for event in read_events(folder.path) if isinstance(event, ModelCalled)]
    return [call.prompt for call in calls if call.task in tasks]
