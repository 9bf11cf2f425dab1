"""Reading triplets out of an observation (paper section 2, extraction)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from arigraph_local.llm.engine import Limits, Message, Request
from arigraph_local.llm.grammar.grounding import extraction_grammar
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet, is_unicode, make_triplet

CONVERSATION = "memory"
_ITEM = re.compile(r'\[\s*"(?:[^"\\]|\\.)*"\s*,\s*"(?:[^"\\]|\\.)*"\s*,\s*"(?:[^"\\]|\\.)*"\s*\]')
_PLAYER = frozenset({"you", "i", "me", "player", "the player", "yourself"})
_WORDS_PER_TRIPLET = 12
_TOKENS_PER_TRIPLET = 28
_LOOP = 4


class Example(BaseModel):
    """A worked example: an observation with its triplets, and maybe the question about outdated
    facts that follows, with its answer.
    """

    model_config = ConfigDict(extra="forbid")

    observation: str
    reply: str
    action: str | None = None
    location: str | None = None
    names: list[str] = []
    remembered: list[str] = []
    new: list[str] = []
    outdated: str | None = None


@dataclass(frozen=True)
class Rejected:
    """A proposal of the model that was not taken over, and the rule that refused it."""

    text: str
    reason: str


@dataclass(frozen=True)
class Extraction:
    """The triplets of one reply, in its order, without repeats."""

    triplets: tuple[Triplet, ...]
    rejected: tuple[Rejected, ...]


def extraction_request(
    prompts: PromptSet,
    settings: MemorySettings,
    turns: tuple[Message, ...],
    observation: str,
    *,
    action: str | None = None,
    location: str | None = None,
    names: Sequence[str] = (),
    seconds: float | None = None,
) -> Request:
    """The request for the triplets of one observation, after the turns of `opening`.

    Temperature 0, as in the paper.
    """
    user = prompts.user(
        "extract", observation=observation, action=action, location=location, names=names
    )
    return Request(
        task="extract",
        conversation=CONVERSATION,
        messages=(*turns, Message("user", user)),
        limits=Limits(settings.max_triplets * _TOKENS_PER_TRIPLET, seconds),
        grammar=extraction_grammar(
            prompts,
            max_triplets=settings.max_triplets,
            texts=[observation, action or "", location or ""],
            names=names,
            grounding=settings.grounding,
            no_repeats=settings.no_repeats,
        ),
        stop_when=repeats_itself,
    )


def opening(prompts: PromptSet) -> tuple[Message, ...]:
    """The turns that every step's memory conversation begins with: the rules, then the worked
    examples as turns, so that their tokens are computed once for a whole run, and together.
    """
    turns = [Message("system", prompts.system("extract"))]
    for example in prompts.examples("extract", Example):
        turns += _example_turns(prompts, example)
    return (*(replace(turn, joined=True) for turn in turns[:-1]), turns[-1])


def _example_turns(prompts: PromptSet, example: Example) -> list[Message]:
    shown = example.model_dump(include={"observation", "action", "location", "names"})
    turns = [
        Message("user", prompts.user("extract", **shown)),
        Message("assistant", example.reply),
    ]
    if example.outdated is not None:
        question = prompts.user("outdated", remembered=example.remembered, new=example.new)
        turns += [Message("user", question), Message("assistant", example.outdated)]
    return turns


def repeats_itself(reply: str) -> bool:
    """Whether a reply in progress has begun to loop, as small models do: its last triplet has
    been written before, or its last four differ in nothing but numbers.
    """
    items = _ITEM.findall(reply)
    if len(items) < 2:
        return False
    without_numbers = {re.sub(r"\d+", "", item) for item in items[-_LOOP:]}
    return items[-1] in items[:-1] or (len(items) >= _LOOP and len(without_numbers) == 1)


def parse_extraction(reply: str) -> Extraction:
    """The triplets of a reply; of one that was cut off, those that are complete."""
    triplets: dict[Triplet, None] = {}
    rejected: list[Rejected] = []
    for text in _ITEM.findall(reply):
        parts = json.loads(text, strict=False)
        triplet = make_triplet(*parts)
        reason = _refusal(triplet)
        if triplet is not None and reason is None:
            triplets[triplet] = None
        elif reason is not None:
            rejected.append(Rejected(", ".join(parts), reason))
    return Extraction(tuple(triplets), tuple(rejected))


def _refusal(triplet: Triplet | None) -> str | None:
    if triplet is None:
        return "empty part or self-loop"
    if not is_unicode(str(triplet)):
        return "not valid Unicode"
    if _PLAYER & set(triplet.entities):
        return "about the player"
    if len(str(triplet).split()) > _WORDS_PER_TRIPLET:
        return "too long"
    return None
