"""The requests of a played game, kept so that engines can be compared on real prompts.

A recording holds, step by step, every request with the reply it got. Asking them again, a turn
that was an earlier reply of the step is replaced by what the engine at hand replied.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arigraph_local.config import RunConfig
from arigraph_local.llm.engine import (
    Chunks,
    Completion,
    Engine,
    Limits,
    Message,
    Request,
    Sampling,
)
from arigraph_local.runs.equipment import equipment
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import run_episode

FILE = Path(__file__).parent / "data" / "hunt_steps.json"


@dataclass(frozen=True)
class Call:
    """One request of a step. `replies[i]` says which call of the step turn `i` was the reply of.

    `chunks` are the tokens of the reply it got when it was recorded.
    """

    request: Request
    replies: dict[int, int]
    chunks: Chunks

    def following(self, earlier: Sequence[Message]) -> Request:
        """The request after these replies to the earlier calls of the step."""
        turns = [
            earlier[self.replies[index]] if index in self.replies else turn
            for index, turn in enumerate(self.request.messages)
        ]
        return replace(self.request, messages=tuple(turns))


Step = list[Call]


def play_step(step: Step, ask: Callable[[Request], Message], episode: str = "") -> int:
    """Ask the calls of a step in their order; how many there were."""
    replies: list[Message] = []
    for call in step:
        request = call.following(replies)
        name = f"{episode}{request.conversation}"
        replies.append(ask(replace(request, conversation=name)))
    return len(replies)


class Recorder:
    """An engine that notes what it is asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.asked: list[tuple[Request, Completion]] = []

    @property
    def context_tokens(self) -> int:
        return self._engine.context_tokens

    @property
    def model_id(self) -> str:
        return self._engine.model_id

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._engine.count_tokens(messages)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        replies = self._engine.generate(requests)
        self.asked += zip(requests, replies, strict=True)
        return replies

    def close(self) -> None:
        self._engine.close()


def record(game: str, model: str, steps: int) -> None:
    """Play a game and write its requests."""
    config = RunConfig.model_validate({"game": game, "model": model, "agent": {"steps": steps}})
    with tempfile.TemporaryDirectory() as name, equipment(config, None, print) as gear:
        recorder = Recorder(gear.engine)
        run_episode(RunFolder.create(Path(name) / "run", config), replace(gear, engine=recorder))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(_lines({"recorded": [model, game], **_packed(recorder.asked)}))


def _lines(packed: dict[str, list[Any]]) -> str:
    """JSON with one text or call a line, so that two recordings can be compared."""
    sections = []
    for name, items in packed.items():
        rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        sections.append(f"{json.dumps(name)}: [\n{rows}\n]")
    return "{" + ",\n".join(sections) + "}\n"


def _packed(asked: Sequence[tuple[Request, Completion]]) -> dict[str, Any]:
    texts: dict[str, int] = {}
    calls: list[dict[str, Any]] = []
    replies: dict[Chunks, int] = {}
    for request, reply in asked:
        if request.task == "extract":
            replies.clear()
        turns: list[list[Any]] = []
        for turn in request.messages:
            if turn.chunks:
                turns.append(
                    [turn.role, texts.setdefault(turn.content, len(texts)), replies[turn.chunks]]
                )
            else:
                turns.append([turn.role, texts.setdefault(turn.content, len(texts))])
        grammar = request.grammar or ""
        calls.append(
            {
                "task": request.task,
                "conversation": request.conversation,
                "turns": turns,
                "grammar": texts.setdefault(grammar, len(texts)),
                "tokens": request.limits.max_tokens,
                "temperature": request.sampling.temperature,
                "seed": request.sampling.seed,
                "reply": reply.chunks,
            }
        )
        replies[reply.chunks] = len(replies)
    return {"texts": list(texts), "calls": calls}


def read_steps(path: Path = FILE) -> list[Step]:
    """The recorded steps."""
    packed = json.loads(path.read_text(encoding="utf-8"))
    texts: list[str] = packed["texts"]
    steps: list[Step] = []
    for call in packed["calls"]:
        if call["task"] == "extract":
            steps.append([])
        steps[-1].append(_call(call, texts, steps[-1]))
    return steps


def _call(call: dict[str, Any], texts: Sequence[str], earlier: Step) -> Call:
    turns: list[Message] = []
    replies: dict[int, int] = {}
    for index, (role, text, *reply) in enumerate(call["turns"]):
        chunks: Chunks = ()
        if reply:
            replies[index] = reply[0]
            chunks = earlier[reply[0]].chunks
        turns.append(Message(role, texts[text], chunks))
    request = Request(
        task=call["task"],
        conversation=call["conversation"],
        messages=tuple(turns),
        limits=Limits(call["tokens"]),
        grammar=texts[call["grammar"]] or None,
        sampling=Sampling(call["temperature"], call["seed"]),
    )
    return Call(request, replies, tuple(tuple(chunk) for chunk in call["reply"]))
