"""Reading triplets out of an observation (paper section 2, extraction)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from arigraph_local.llm.engine import Limits, Message, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet, make_triplet

CONVERSATION = "memory"
_ITEM = re.compile(r'\[\s*"(?:[^"\\]|\\.)*"\s*,\s*"(?:[^"\\]|\\.)*"\s*,\s*"(?:[^"\\]|\\.)*"\s*\]')
_PLAYER = frozenset({"you", "i", "me", "player", "the player", "yourself"})
_WORDS_PER_TRIPLET = 12
_TOKENS_PER_TRIPLET = 28


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
    observation: str,
    *,
    action: str | None,
    names: Sequence[str],
    seconds: float | None = None,
) -> Request:
    """The request for the triplets of one observation. Temperature 0, as in the paper."""
    user = prompts.user("extract", observation=observation, action=action, names=names)
    return Request(
        task="extract",
        conversation=CONVERSATION,
        messages=(Message("system", prompts.system("extract")), Message("user", user)),
        limits=Limits(settings.max_triplets * _TOKENS_PER_TRIPLET, seconds),
        grammar=prompts.grammar("extract", max_triplets=settings.max_triplets),
        stop_when=repeats_itself,
    )


def repeats_itself(reply: str) -> bool:
    """Whether the last triplet of a reply in progress has been written before.

    Small models fall into loops; what follows a repeat is more of the same.
    """
    items = _ITEM.findall(reply)
    return len(items) > 1 and items[-1] in items[:-1]


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
    if _PLAYER & set(triplet.entities):
        return "about the player"
    if len(str(triplet).split()) > _WORDS_PER_TRIPLET:
        return "too long"
    return None


def mentioned_names(observation: str, names: Sequence[str], limit: int) -> list[str]:
    """Names already in the graph that the observation mentions, the longest first."""
    text = " ".join(observation.lower().split())
    found = [name for name in names if len(name) > 2 and re.search(rf"\b{re.escape(name)}\b", text)]
    return sorted(found, key=lambda name: (-len(name), name))[:limit]
