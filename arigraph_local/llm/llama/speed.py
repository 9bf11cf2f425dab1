"""How fast a model computes on this machine under given settings, and which settings do best.

What is timed is bare computing, shaped like a step of an agent: a prompt after a kept one, then
replies token by token, alone and sixteen at once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from arigraph_local.llm.llama.context_options import ContextOptions, FlashAttention
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Span
from arigraph_local.llm.llama.loaded_model import LoadedModel
from arigraph_local.llm.llama.threads import logical_cores, physical_cores

TOGETHER = 16
STEP_PROMPT, STEP_REPLY = 500, 150
"""Tokens that a step computes of its prompts and of its replies (measured on a Treasure Hunt)."""
MARGIN = 1.03
"""How much faster a setting must be to be preferred: less is lost in noise."""
CONTEXT = 1024
_ATTENTIONS: tuple[FlashAttention, ...] = ("on", "off")
_KEPT, _PROMPT, _REPLY = 256, 384, 16


@dataclass(frozen=True)
class Choice:
    """What may be chosen freely, as replies differ by it in their last bits at most."""

    threads: int
    flash_attention: FlashAttention
    n_ubatch: int

    @property
    def options(self) -> ContextOptions:
        """As an engine takes them; `n_batch` stays at its default."""
        return ContextOptions(
            micro_batch=self.n_ubatch,
            flash_attention=self.flash_attention,
        )


@dataclass(frozen=True)
class Speed:
    """Tokens a second: of a prompt, of one reply, of `TOGETHER` replies in one batch."""

    prompt: float
    reply: float
    together: float

    @property
    def step_seconds(self) -> float:
        """Computing time of an agent's step."""
        return STEP_PROMPT / self.prompt + STEP_REPLY / self.reply


@dataclass(frozen=True)
class Compared:
    """A choice, its median speed, and the median of its pairwise ratios to the default's steps
    (above 1: faster).
    """

    choice: Choice
    speed: Speed
    ratio: float


def default_choice() -> Choice:
    """What an engine takes when nothing is set."""
    options = ContextOptions()
    return Choice(physical_cores(), options.flash_attention, options.micro_batch)


def alternatives(choice: Choice) -> Iterator[tuple[Choice, ...]]:
    """Groups of choices that differ from this one in one setting."""
    most = logical_cores()
    threads = {1, most // 2, physical_cores(), most} - {0, choice.threads}
    yield tuple(replace(choice, threads=count) for count in sorted(threads))
    attentions = [kind for kind in _ATTENTIONS if kind != choice.flash_attention]
    yield tuple(replace(choice, flash_attention=kind) for kind in attentions)
    sizes = [size for size in (64, 128, 256, 512) if size != choice.n_ubatch]
    yield tuple(replace(choice, n_ubatch=size) for size in sizes)


Measure = Callable[[Choice], Speed]


def search_fastest(
    measure: Measure, start: Choice, pairs: int, report: Callable[[Compared], None]
) -> Choice:
    """The fastest choice that is reached by changing one setting after the other.

    Each candidate is timed in turns with the choice that is best so far, `pairs` times, and
    `report`ed as compared with that.
    """
    best = start
    for number, _ in enumerate(list(alternatives(start))):
        group = list(alternatives(best))[number]
        compared = [compare(measure, choice, best, pairs) for choice in group]
        for one in compared:
            report(one)
        fastest = max(compared, key=lambda one: one.ratio, default=None)
        if fastest is not None and fastest.ratio >= MARGIN:
            best = fastest.choice
    return best


def confirm_fastest(measure: Measure, found: Choice, start: Choice, pairs: int) -> Compared:
    """What was found against where the search began, which stays where the find does not hold:
    on a busy machine, the search follows the noise.
    """
    confirmed = compare(measure, found, start, pairs)
    return confirmed if confirmed.ratio >= MARGIN else compare(measure, start, start, 1)


def compare(measure: Measure, choice: Choice, baseline: Choice, pairs: int) -> Compared:
    """Time both in turns, `pairs` times."""
    speeds: list[Speed] = []
    ratios: list[float] = []
    for number in range(pairs):
        # Whichever comes second finds warmer caches.
        order = (choice, baseline) if number % 2 else (baseline, choice)
        found = {one: measure(one) for one in order}
        speeds.append(found[choice])
        ratios.append(found[baseline].step_seconds / found[choice].step_seconds)
    return Compared(choice, _median(speeds), statistics.median(ratios))


def _median(speeds: Iterable[Speed]) -> Speed:
    columns = zip(*((one.prompt, one.reply, one.together) for one in speeds), strict=True)
    prompt, reply, together = map(statistics.median, columns)
    return Speed(prompt, reply, together)


def speed_of(loaded: LoadedModel, choice: Choice) -> Speed:
    """Time the model once under these settings. Raises `ArigraphError` if it cannot compute."""
    decoder = loaded.decoder(TOGETHER, choice.threads, choice.options, name="sequences")
    try:
        _decode(decoder, range(TOGETHER), 0, 8)
        _decode(decoder, [0], 8, _KEPT)
        prompt = _decode(decoder, [0], 8 + _KEPT, _PROMPT)
        reply = sum(_decode(decoder, [0], 8 + _KEPT + _PROMPT + n, 1) for n in range(_REPLY))
        decoder.remove(0, 8)
        together = sum(_decode(decoder, range(TOGETHER), 8 + n, 1) for n in range(_REPLY))
    finally:
        decoder.free()
    return Speed(_PROMPT / prompt, _REPLY / reply, TOGETHER * _REPLY / together)


def _decode(decoder: LlamaDecoder, sequences: Iterable[int], start: int, count: int) -> float:
    """Seconds that appending `count` tokens to each sequence takes."""
    tokens = [10 + number % 200 for number in range(start, start + count)]
    spans = [Span(number, start, tokens, wants_logits=True) for number in sequences]
    began = time.perf_counter()
    code = decoder.decode(spans)
    # Some back ends compute on until their results are read.
    decoder.logits()[0, 0].item()
    seconds = time.perf_counter() - began
    if code:
        raise decoder.failure(code)
    return seconds
