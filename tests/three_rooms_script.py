"""Scripted replies that play `ThreeRooms` to its end, over a long way round."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from arigraph_local.llm.engine import Request
from arigraph_local.llm.scripted import Script, ScriptedEngine

ACTIONS = ("go west", "go west", "go to hall", "go west", "take key", "go east", "open locker")


def extract(request: Request) -> str:
    """What a careful reader takes from the last observation."""
    text = request.messages[-1].content
    room = re.search(r"-= (\w+) =-", text)
    triplets: list[list[str]] = []
    if room:
        ways = [way for way in ("east", "west") if re.search(rf"\b{way}\b", text)]
        triplets += [[room[1].lower(), "has exit", way] for way in ways]
    if "A key lies" in text:
        triplets.append(["key", "is on", "desk"])
    if "pick up the key" in text:
        triplets.append(["key", "is in", "inventory"])
    return json.dumps(triplets)


def plan(request: Request) -> str:
    """One sub-goal, set at the start and kept."""
    standing = "Current plan:" in request.messages[-1].content
    goal = {"goal": "find the key", "reason": "it opens the locker"}
    done: dict[str, object] = {"done": []} if standing else {}
    return json.dumps(
        done
        | {
            "sub_goals": [] if standing else [goal],
            "needs_exploration": True,
            "entities": [{"name": "key", "relevance": 2}],
        }
    )


class Actor:
    """Chooses the given actions in turn; a choice depends on the step alone, so it can resume."""

    def __init__(self, actions: Sequence[str] = ACTIONS) -> None:
        self._actions = actions

    def __call__(self, request: Request) -> str:
        (now,) = (turn.content for turn in request.messages if "What you see now" in turn.content)
        step = re.search(r"^Step (\d+)", now, re.MULTILINE)
        assert step is not None
        action = self._actions[(int(step[1]) - 1) % len(self._actions)]
        return json.dumps({"rationale": "because", "action": action})


def edit(request: Request) -> str:
    """Drops the last line of the core, adds one, and searches for the key."""
    text = request.messages[-1].content
    lines = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    dropped: dict[str, object] = {"delete": [int(lines[-1])]} if lines else {}
    room = re.search(r"-= (\w+) =-", text)
    added = [f"I was in {room[1]}"] if room else []
    return json.dumps(
        dropped | {"add": added, "archive": ["the locker wants a key"], "search": "key"}
    )


REPLIES: dict[str, Script] = {
    "extract": extract,
    "outdated": lambda _: "E1>N1",
    "plan": plan,
    "act": Actor(),
    "summary": lambda _: "I walk from room to room and look for a key.",
    "importance": lambda request: "9" if "key" in request.messages[-1].content else "8",
    "reflection": lambda _: '["The key opens the locker", "The cellar is empty"]',
    "reflexion": lambda _: "Take the key first, then open the locker.",
    "memgpt": edit,
}


def engine() -> ScriptedEngine:
    return ScriptedEngine(REPLIES)
