"""Detecting outdated facts (paper section 2): which new triplet retires which remembered one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from arigraph_local.llm.engine import Completion, Limits, Message, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.learning.exclusive import excludes
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet

_PAIR = re.compile(r"E(\d+)>N(\d+)")
_TOKENS_PER_PAIR = 10


@dataclass(frozen=True)
class Candidates:
    """What the model is asked about: facts E1…, triplets N1…, and the pairs it may answer.

    `pairs` maps the index of a fact (from 0) to the indices of triplets that may replace it.
    `guarded` counts what was withheld: pairs for `not exclusive`, facts for the other guards.
    """

    facts: tuple[Fact, ...]
    triplets: tuple[Triplet, ...]
    pairs: dict[int, tuple[int, ...]]
    guarded: dict[str, int]


@dataclass(frozen=True)
class Pair:
    """A remembered fact, the new triplet that retires it, and why."""

    fact: Fact
    replacement: Triplet
    reason: str = "the model judged it outdated"


def find_candidates(
    incident: Sequence[Fact],
    new: Sequence[Triplet],
    *,
    restated: Collection[Triplet],
    places: Collection[str],
    settings: MemorySettings,
) -> Candidates:
    """The pairs that may be offered, after the guards.

    `incident` are current facts, `new` the observation's triplets that are not yet current,
    `restated` all of its triplets. Never offered: a fact the observation restates; an edge
    between two known locations; with `structural_guard`, a pair whose triplets can be true
    together. Of more than `max_candidates` facts the most recently learned are kept.
    """
    guarded: Counter[str] = Counter()
    stated = set(restated)
    of_entity = _by_entity(new)
    kept: list[tuple[Fact, list[Triplet]]] = []
    for fact in incident:
        linked = _linked(fact, of_entity)
        replacements = _replacements(fact, linked, stated, places, settings, guarded)
        if replacements:
            kept.append((fact, replacements))
    if len(kept) > settings.max_candidates:
        guarded["too many"] += len(kept) - settings.max_candidates
        kept = sorted(kept, key=lambda item: item[0].id)[-settings.max_candidates :]
    used = {triplet for _, replacements in kept for triplet in replacements}
    triplets = tuple(triplet for triplet in new if triplet in used)
    number = {triplet: index for index, triplet in enumerate(triplets)}
    pairs = {
        index: tuple(number[triplet] for triplet in replacements)
        for index, (_, replacements) in enumerate(kept)
    }
    return Candidates(tuple(fact for fact, _ in kept), triplets, pairs, dict(guarded))


def _by_entity(new: Sequence[Triplet]) -> dict[str, list[tuple[int, Triplet]]]:
    """The new triplets of each entity, numbered in their order."""
    found: dict[str, list[tuple[int, Triplet]]] = {}
    for number, triplet in enumerate(new):
        for name in dict.fromkeys(triplet.entities):
            found.setdefault(name, []).append((number, triplet))
    return found


def _linked(fact: Fact, of_entity: dict[str, list[tuple[int, Triplet]]]) -> list[Triplet]:
    """The new triplets that share an entity with a fact, in their order."""
    subject = of_entity.get(fact.triplet.subject, [])
    object_ = of_entity.get(fact.triplet.object, [])
    if subject and object_:
        return [triplet for _, triplet in sorted({*subject, *object_})]
    return [triplet for _, triplet in subject or object_]


def _replacements(
    fact: Fact,
    linked: Sequence[Triplet],
    restated: Collection[Triplet],
    places: Collection[str],
    settings: MemorySettings,
    guarded: Counter[str],
) -> list[Triplet]:
    allowed = list(linked)
    if settings.structural_guard:
        allowed = [triplet for triplet in linked if excludes(triplet, fact.triplet)]
        if len(allowed) < len(linked):
            guarded["not exclusive"] += len(linked) - len(allowed)
    if allowed and fact.triplet in restated:
        guarded["restatement"] += 1
        return []
    if allowed and all(name in places for name in fact.triplet.entities):
        guarded["between locations"] += 1
        return []
    return allowed


def outdated_request(
    prompts: PromptSet,
    candidates: Candidates,
    extraction: Request,
    extracted: Completion,
) -> Request:
    """The request that continues the extraction's conversation with the numbered candidates."""
    user = prompts.user(
        "outdated",
        remembered=[fact.triplet for fact in candidates.facts],
        new=candidates.triplets,
    )
    pairs = [
        (fact + 1, [triplet + 1 for triplet in triplets])
        for fact, triplets in candidates.pairs.items()
    ]
    return Request(
        task="outdated",
        conversation=extraction.conversation,
        messages=(*extraction.messages, extracted.as_message(), Message("user", user)),
        limits=Limits(8 + _TOKENS_PER_PAIR * len(candidates.facts), extraction.limits.seconds),
        grammar=prompts.grammar("outdated", remembered=len(candidates.facts), pairs=pairs),
    )


def parse_pairs(reply: str, candidates: Candidates) -> list[Pair]:
    """The pairs of a reply that were offered, at most one for each fact, in the reply's order."""
    pairs: dict[int, Pair] = {}
    for old, new in _PAIR.findall(reply):
        fact, triplet = int(old) - 1, int(new) - 1
        if fact not in pairs and triplet in candidates.pairs.get(fact, ()):
            pairs[fact] = Pair(candidates.facts[fact], candidates.triplets[triplet])
    return list(pairs.values())
