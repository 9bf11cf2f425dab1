"""What the engine costs beside the model's own computing: time a turn, tokens computed twice."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from recorded_steps import Step

from arigraph_local.llm.batched.job import Job
from arigraph_local.llm.batched.prefix_store import as_tokens, common_length
from arigraph_local.llm.batched.scheduler import Scheduler
from arigraph_local.llm.engine import Limits, Message, Request, TokenCounts
from arigraph_local.llm.llama.llama_context import LlamaContext
from arigraph_local.llm.llama.llama_decoder import LlamaDecoder, Logits, Span
from arigraph_local.llm.llama.loaded_model import LoadedModel
from arigraph_local.llm.llama.reply import Reply

Clock = Callable[[], float]
TURNS = 8
LETTERS = "root ::= [a-zA-Z ,.]+"


def decode_share(
    loaded: LoadedModel, decoder: LlamaDecoder, count: int, pairs: int, clock: Clock
) -> float:
    """Time of bare decoding over that of turns of `count` running replies."""
    shares = []
    for _ in range(pairs):
        scheduler = Scheduler(decoder, 0)
        jobs = [_job(loaded, number, LETTERS) for number in range(count)]
        for job in jobs:
            scheduler.add(job)
        while any(job.in_prompt for job in jobs):
            scheduler.turn()
        started = clock()
        for _ in range(TURNS):
            scheduler.turn()
        turns = clock() - started
        spans = [Span(job.lane.number, job.held, job.tokens[-1:], True) for job in jobs if job.lane]
        spans.sort(key=lambda span: span.sequence)
        bare = 0.0
        for _ in range(TURNS):
            started = clock()
            decoder.decode(spans)
            bare += clock() - started
            for span in spans:
                decoder.remove(span.sequence, span.start)
        scheduler.fail_all(RuntimeError("measured"))
        for sequence in range(decoder.sequences):
            decoder.remove(sequence)
        shares.append(bare / turns)
    return statistics.median(shares)


def grammar_overhead(loaded: LoadedModel, decoder: LlamaDecoder, pairs: int, clock: Clock) -> float:
    """Extra time a sampled token under a grammar that forces none.

    Two replies grow in turns, one of them free; each pair is a stretch of tokens of both.
    """
    context = LlamaContext(decoder)
    replies, logits = _begun(loaded, context)
    ratios = []
    for _ in range(pairs):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(TURNS):
            for number, reply in enumerate(replies):
                started = clock()
                tokens = reply.extend(logits[number])
                if reply.stop is not None:
                    replies, logits = _begun(loaded, context)
                    break
                context.decode(number, tuple(tokens))
                times[number].append(clock() - started)
                logits[number] = context.logits().copy()
        ratios.append(statistics.median(times[1]) / statistics.median(times[0]))
    return statistics.median(ratios) - 1


def _begun(loaded: LoadedModel, context: LlamaContext) -> tuple[list[Reply], list[Logits]]:
    """A free reply in sequence 0 and one under a grammar in 1, with the logits of their prompts."""
    replies, logits = [], []
    for number, grammar in enumerate((None, LETTERS)):
        request = _request(0, grammar)
        prompt = loaded.tokenise(request.messages)
        context.clear(number)
        context.prefill(number, prompt.chunks)
        replies.append(loaded.prepare(request, prompt)())
        logits.append(context.logits().copy())
    return replies, logits


def _request(number: int, grammar: str | None) -> Request:
    text = f"Tell a long story about room {number} of a large house, with many words."
    return Request("bench", "c", (Message("user", text),), Limits(400), grammar=grammar)


def _job(loaded: LoadedModel, number: int, grammar: str) -> Job:
    request = _request(number, grammar)
    prompt = loaded.tokenise(request.messages)
    tokens = [token for chunk in prompt.chunks for token in chunk]
    return Job(tokens, loaded.prepare(request, prompt))


class _Uncomputed(LlamaDecoder):
    """Takes every span and computes nothing."""

    def __init__(self, sequences: int) -> None:
        self.sequences = sequences

    def decode(self, spans: Sequence[Span]) -> int:
        return 0

    def remove(self, sequence: int, start: int = 0) -> bool:
        return True


def token_counts(loaded: LoadedModel, steps: Sequence[Step]) -> dict[str, float]:
    """Tokens a step of a recorded game, as the reproducible engine would count them."""
    names = {call.request.conversation for step in steps for call in step}
    sequences = {name: number for number, name in enumerate(sorted(names))}
    context = LlamaContext(_Uncomputed(len(sequences)))
    seen: dict[str, list[list[int]]] = defaultdict(list)
    recomputed, total = 0, TokenCounts()
    for call in (call for step in steps for call in step):
        name = call.request.conversation
        prompt = loaded.tokenise(call.request.messages)
        computed = context.prefill(sequences[name], prompt.chunks)
        for chunk in call.chunks[:-1]:
            context.decode(sequences[name], chunk)
        tokens = [token for chunk in prompt.chunks for token in chunk]
        known = [common_length(as_tokens(old), as_tokens(tokens)) for old in seen[name]]
        recomputed += computed - (prompt.size - max(known, default=0))
        replied = [token for chunk in call.chunks[:-1] for token in chunk]
        seen[name].append(tokens + replied)
        total += TokenCounts(computed, prompt.size - computed, sum(map(len, call.chunks)))
    return {
        "recomputed_tokens_per_step": recomputed / len(steps),
        "generated_tokens_per_step": total.generated / len(steps),
        "computed_tokens_per_step": total.computed / len(steps),
    }
