"""What the memory asks the model about one observation, and what it does when that does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.engine import Completion, Engine, Request
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.extraction import (
    Extraction,
    extraction_request,
    opening,
    parse_extraction,
)
from arigraph_local.memory.learning.outdated import Candidates, Pair, outdated_request, parse_pairs
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import is_unicode


@dataclass(frozen=True)
class ModelCall:
    """A request to the model and its completion, for the record."""

    task: str
    completion: Completion


@dataclass(frozen=True)
class Reading:
    """The conversation about one observation so far: its triplets, then the outdated pairs.

    `dropped` counts, by kind, what was left out so that a prompt fits in the context. `request`
    is the extraction that a question about outdated facts continues, None if nothing was asked.
    """

    extraction: Extraction
    request: Request | None = None
    calls: tuple[ModelCall, ...] = ()
    pairs: tuple[Pair, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)


class Observer:
    """Reads observations with a model: two questions at most, in one conversation."""

    def __init__(
        self,
        engine: Engine,
        prompts: PromptSet,
        settings: MemorySettings,
        reply_seconds: float | None,
    ) -> None:
        self._engine = engine
        self._prompts = prompts
        self._settings = settings
        self._reply_seconds = reply_seconds
        self._opening = opening(prompts)
        self._empty_in_a_row = 0

    def extract(
        self,
        observation: str,
        action: str | None,
        location: str | None,
        names: Sequence[str],
    ) -> Reading:
        """Ask for triplets; if the prompt is too long, leave out the known names.

        A blank observation is not put to the model. Raises `ContextOverflowError` if the
        observation alone does not fit, and `ArigraphError` if it is not valid Unicode, or after
        `max_empty_extractions` replies in a row without a triplet.
        """
        if not is_unicode(observation):
            raise ArigraphError(f"the observation is not valid Unicode: {observation[:80]!r}")
        if not observation.strip():
            return Reading(Extraction((), ()))
        try:
            request, extracted = self._ask(observation, action, location, names)
            dropped: dict[str, int] = {}
        except ContextOverflowError:
            if not names:
                raise
            request, extracted = self._ask(observation, action, location, ())
            dropped = {"names": len(names)}
        extraction = parse_extraction(extracted.text)
        self._count_empty(extraction, extracted)
        return Reading(
            extraction, request, calls=(ModelCall("extract", extracted),), dropped=dropped
        )

    def ask_outdated(self, reading: Reading, candidates: Candidates) -> Reading:
        """Ask which facts are outdated; a question that does not fit retires nothing."""
        if not candidates.pairs or not self._settings.detect_outdated or reading.request is None:
            return reading
        extracted = reading.calls[-1].completion
        question = outdated_request(self._prompts, candidates, reading.request, extracted)
        try:
            answer = self._engine.generate([question])[0]
        except ContextOverflowError:
            left_out = {"outdated candidates": len(candidates.facts)}
            return replace(reading, dropped=reading.dropped | left_out)
        return replace(
            reading,
            calls=(*reading.calls, ModelCall("outdated", answer)),
            pairs=tuple(parse_pairs(answer.text, candidates)),
        )

    def _ask(
        self, observation: str, action: str | None, location: str | None, names: Sequence[str]
    ) -> tuple[Request, Completion]:
        request = extraction_request(
            self._prompts,
            self._settings,
            self._opening,
            observation,
            action=action,
            location=location,
            names=names,
            seconds=self._reply_seconds,
        )
        return request, self._engine.generate([request])[0]

    def _count_empty(self, extraction: Extraction, extracted: Completion) -> None:
        self._empty_in_a_row = 0 if extraction.triplets else self._empty_in_a_row + 1
        limit = self._settings.max_empty_extractions
        if limit and self._empty_in_a_row >= limit:
            raise ArigraphError(
                f"the model extracted no triplet from {limit} observations in a row; "
                f"its last reply: {extracted.text[:200]!r}"
            )
