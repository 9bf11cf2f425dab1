"""What one decode call computes, arranged as llama.cpp computes it fastest.

llama.cpp takes one token of every sequence together as long as the sequences are neighbours; a
gap between them, or a sequence with more tokens than the others, costs a pass over the weights of
its own. A 135M model on two cores, in units of one token by itself: 16 neighbours 6, 8 neighbours
3.3, 8 with a gap after each 9.4, three more tokens of one sequence 1.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from arigraph_local.llm.batched.job import Job
from arigraph_local.llm.batched.lanes import Decoder, Lane, Lanes
from arigraph_local.llm.llama.llama_decoder import Span

_FORCED_ALONG = 6
"""Up to this many forced tokens are decoded one a turn, beside the other replies."""
_MANY = 4
"""From this many replies on there are others to go beside."""
_GAP = 2
"""Widest gap between running lanes that is filled."""
_FILLER = (0,)


@dataclass
class Batch:
    """Spans by ascending lane, those of jobs and those that fill a gap between them."""

    jobs: list[Job] = field(default_factory=list)
    fillers: list[Lane] = field(default_factory=list)
    """Idle lanes that are given a token nobody wants; to be rewound after decoding."""
    _spans: list[Span] = field(default_factory=list)
    _filling: list[Span] = field(default_factory=list)

    @property
    def owned(self) -> Iterator[tuple[Span, Job]]:
        """The spans that belong to jobs, by ascending lane."""
        return zip(self._spans, self.jobs, strict=True)

    @property
    def spans(self) -> list[Span]:
        """All spans, as a decoder wants them."""
        return sorted([*self._spans, *self._filling], key=lambda span: span.sequence)


def compose(running: Sequence[Job], lanes: Lanes, decoder: Decoder) -> Batch:
    """The next batch of these jobs: running replies first, then prompts, oldest first."""
    alone = next((job for job in running if job.alone), None)
    candidates = running if alone is None else [alone]
    replying = [job for job in candidates if not job.in_prompt]
    room = decoder.batch_tokens
    taken: list[tuple[Span, Job]] = []
    for position, job in enumerate(replying):
        forced = len(job.tokens) - job.held
        # Each of those that follow gets one token at least.
        most = room - (len(replying) - position - 1)
        if len(replying) >= _MANY and forced <= _FORCED_ALONG:
            most = 1
        taken.append((_span(job, most, decoder), job))
        room -= len(taken[-1][0].tokens)
    for job in candidates:
        if job.in_prompt and room > 0:
            taken.append((_span(job, room, decoder), job))
            room -= len(taken[-1][0].tokens)
    taken.sort(key=lambda item: item[0].sequence)
    fillers = [] if decoder.whole_only else _fillers(taken, lanes, decoder, room)
    return Batch(
        jobs=[job for _, job in taken],
        fillers=fillers,
        _spans=[span for span, _ in taken],
        _filling=[Span(lane.number, lane.held, _FILLER, wants_logits=False) for lane in fillers],
    )


def _span(job: Job, most: int, decoder: Decoder) -> Span:
    assert job.lane is not None
    end = min(len(job.tokens), job.held + most)
    if decoder.whole_only and job.held < job.snapshot_at:
        end = min(end, job.snapshot_at)
    tokens = job.tokens[job.held : end]
    return Span(job.lane.number, job.held, tokens, wants_logits=end == len(job.tokens))


def _fillers(
    taken: Sequence[tuple[Span, Job]], lanes: Lanes, decoder: Decoder, room: int
) -> list[Lane]:
    """Idle lanes whose gaps are worth closing, where that makes replies neighbours."""
    if sum(not job.in_prompt for _, job in taken) < 2:
        return []
    numbers = [span.sequence for span, _ in taken]
    found: list[Lane] = []
    for first, last in pairwise(numbers):
        gap = lanes.between(first, last)
        fits = len(gap) <= min(_GAP, room - len(found))
        if fits and all(not lane.busy and lane.held < decoder.context_tokens for lane in gap):
            found += gap
    return found
