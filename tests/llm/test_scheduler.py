from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_decoder import FakeDecoder
from fake_job import FakeJob
from hypothesis import given, settings
from hypothesis import strategies as st

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.scheduler import Scheduler
from arigraph_local.llm.llama.llama_decoder import Logits, Span

KEPT = 1 << 20
SYSTEM = list(range(100, 200))


def run(scheduler: Scheduler, *jobs: FakeJob, turns: int = 2000) -> None:
    for job in jobs:
        scheduler.add(job)
    for _ in range(turns):
        if not scheduler.busy:
            return
        scheduler.turn()
    pytest.fail("the scheduler does not come to an end")


prompts = st.tuples(
    st.integers(0, 3),
    st.integers(0, 100),
    st.lists(st.integers(0, 9), min_size=1, max_size=40),
).map(lambda drawn: [drawn[0], *SYSTEM[: drawn[1]], *drawn[2]])

arrivals = st.tuples(
    prompts,
    st.integers(0, 12),
    st.booleans(),
    st.lists(st.integers(0, 9), max_size=3),
    st.integers(0, 30),
    st.sampled_from([None, None, None, 1, 5, 20]),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(arrivals, min_size=1, max_size=12),
    st.integers(1, 4),
    st.integers(4, 40),
    st.booleans(),
    st.sampled_from([0, 1000, KEPT]),
    st.sets(st.integers(0, 60), max_size=6),
)
def test_every_reply_is_the_one_it_would_get_alone(
    drawn: list[tuple[list[int], int, bool, list[int], int, int | None]],
    sequences: int,
    batch: int,
    whole_only: bool,
    kept: int,
    failures: set[int],
) -> None:
    decoder = FakeDecoder(
        sequences=sequences,
        batch_tokens=batch,
        whole_only=whole_only,
        fails=lambda spans: -3 if len(decoder.calls) in failures else 0,
    )
    scheduler = Scheduler(decoder, kept)
    jobs = [
        (FakeJob(p, n, greedy=g, opening=o, snapshot_at=len(p) // 2), arrival, gives_up)
        for p, n, g, o, arrival, gives_up in drawn
    ]
    turn = 0
    while scheduler.busy or turn <= 30:
        for job, arrival, gives_up in jobs:
            if arrival == turn:
                scheduler.add(job)
            if gives_up is not None and arrival + gives_up == turn and not job.done:
                job.given_up = True
        scheduler.turn()
        turn += 1
        assert turn < 3000
    for job, _, _ in jobs:
        assert job.ends == (0 if job.given_up else 1)
        if job.done and job.error is None:
            assert job.made.tokens == job.expected()
            assert 0 <= job.reused < max(1, job.prompt.size)
        if job.error is not None:
            assert failures
    scheduler.lanes.empty_all()
    assert decoder.held == [[]] * sequences
    assert scheduler.lanes.store.bytes == 0


def test_running_replies_grow_at_every_turn_beside_a_long_prompt() -> None:
    decoder = FakeDecoder(batch_tokens=10)
    scheduler = Scheduler(decoder, KEPT)
    running = [FakeJob([7, n], 30) for n in range(3)]
    for job in running:
        scheduler.add(job)
    scheduler.turn()
    scheduler.add(FakeJob(range(1000, 1200), 1))
    before = [len(job.made.tokens) for job in running]
    for _ in range(5):
        scheduler.turn()
    # A turn that decodes forced tokens may take two; none takes more.
    assert all(len(job.made.tokens) >= old + 5 for job, old in zip(running, before, strict=True))
    prompt_tokens = [len(call[-1].tokens) for call in decoder.calls[2:]]
    assert all(count >= 1 for count in prompt_tokens)


def test_prompts_are_computed_oldest_first() -> None:
    decoder = FakeDecoder(batch_tokens=10)
    scheduler = Scheduler(decoder, KEPT)
    first, second = FakeJob([1] * 25, 1), FakeJob([2] * 5, 1)
    scheduler.add(first)
    scheduler.add(second)
    scheduler.turn()
    scheduler.turn()
    assert (first.held, second.held) == (20, 0)
    scheduler.turn()
    assert first.done
    assert second.done


def test_requests_start_in_the_order_they_came() -> None:
    scheduler = Scheduler(FakeDecoder(sequences=1), KEPT)
    jobs = [FakeJob([n] * 40, 2) for n in range(5)]
    for job in jobs:
        scheduler.add(job)
    ended: list[int] = []
    while scheduler.busy:
        scheduler.turn()
        ended += [n for n, job in enumerate(jobs) if job.done and n not in ended]
    assert ended == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("whole_only", [False, True])
def test_what_new_requests_share_is_computed_once(whole_only: bool) -> None:
    decoder = FakeDecoder(sequences=8, batch_tokens=64, whole_only=whole_only)
    jobs = [FakeJob([*SYSTEM, n, n, n], 1, snapshot_at=len(SYSTEM)) for n in range(8)]
    run(Scheduler(decoder, KEPT), *jobs)
    assert decoder.computed == len(SYSTEM) + 8 * 3
    assert [job.reused for job in jobs] == [0] + [len(SYSTEM)] * 7


def test_one_that_waits_for_a_shared_prompt_goes_on_when_the_other_is_cancelled() -> None:
    scheduler = Scheduler(FakeDecoder(batch_tokens=16), KEPT)
    first, second = (FakeJob([*SYSTEM, n], 2) for n in (1, 2))
    scheduler.add(first)
    scheduler.add(second)
    scheduler.turn()
    assert second.lane is None
    first.given_up = True
    run(scheduler)
    assert second.made.tokens == second.expected()


@pytest.mark.parametrize("whole_only", [False, True])
def test_following_turn_continues_its_conversation(whole_only: bool) -> None:
    decoder = FakeDecoder(sequences=1, batch_tokens=64, whole_only=whole_only)
    scheduler = Scheduler(decoder, KEPT)
    for name in (3, 4):
        run(scheduler, job := FakeJob([name, *SYSTEM], 4))
        known = len(job.tokens)
        run(scheduler, FakeJob([9] * 80, 1))
        following = FakeJob([*job.tokens, 5, 5], 4)
        run(scheduler, following)
        # The last token of a reply is decoded by nobody until the conversation goes on.
        assert following.reused >= known - 3
        assert following.made.tokens == following.expected()


def test_a_batch_that_fails_is_tried_one_by_one_and_only_the_culprit_fails() -> None:
    def fails(spans: Sequence[Span]) -> int:
        return -3 if any(99 in span.tokens for span in spans) else 0

    decoder = FakeDecoder(fails=fails)
    jobs = [FakeJob([n, n], 3) for n in (11, 12, 99, 14)]
    run(Scheduler(decoder, KEPT), *jobs)
    assert [job.error is None for job in jobs] == [True, True, False, True]
    assert "code -3" in str(jobs[2].error)
    assert all(job.made.tokens == job.expected() for job in jobs if job.error is None)


def test_one_that_fails_alone_starts_over_once() -> None:
    decoder = FakeDecoder(fails=lambda spans: 1 if len(decoder.calls) in (3, 4) else 0)
    job = FakeJob([1, 2, 3], 5)
    run(Scheduler(decoder, KEPT), job)
    assert isinstance(job.error, ArigraphError)
    decoder.fails = lambda spans: 1 if len(decoder.calls) in (8, 11) else 0
    run(Scheduler(decoder, KEPT), again := FakeJob([1, 2, 3], 9))
    assert again.made.tokens == again.expected()


def test_an_error_of_a_reply_is_that_requests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = FakeJob([1, 2], 9), FakeJob([3, 4], 9)

    def broken(logits: Logits, best: int | None = None) -> list[int]:
        raise ZeroDivisionError

    monkeypatch.setattr(bad.made, "extend", broken)
    run(Scheduler(FakeDecoder(), KEPT), bad, good)
    assert isinstance(bad.error, ZeroDivisionError)
    assert good.made.tokens == good.expected()


def test_a_cancelled_request_is_freed_at_the_next_turn() -> None:
    decoder = FakeDecoder(sequences=1)
    scheduler = Scheduler(decoder, KEPT)
    scheduler.add(job := FakeJob([1, 2, 3], 99))
    scheduler.turn()
    assert decoder.held[0]
    job.given_up = True
    scheduler.turn()
    assert decoder.held == [[]]
    assert not scheduler.busy
    assert job.ends == 0


def test_a_reply_of_no_tokens_computes_nothing() -> None:
    decoder = FakeDecoder()
    run(Scheduler(decoder, KEPT), job := FakeJob([1, 2, 3], 0))
    assert job.done
    assert not decoder.calls


def test_a_repeated_request_computes_its_last_token_only() -> None:
    decoder = FakeDecoder(batch_tokens=200)
    scheduler = Scheduler(decoder, KEPT)
    run(scheduler, FakeJob(SYSTEM, 3))
    run(scheduler, again := FakeJob(SYSTEM, 3))
    assert again.reused == len(SYSTEM) - 1
    assert again.made.tokens == again.expected()


def test_running_lanes_are_neighbours() -> None:
    decoder = FakeDecoder(sequences=8, batch_tokens=64)
    scheduler = Scheduler(decoder, KEPT)
    for _ in range(3):
        for n in range(4):
            scheduler.add(FakeJob([n, n, n, n], 3))
        scheduler.turn()
        assert [span.sequence for span in decoder.calls[-1]] == [0, 1, 2, 3]
        run(scheduler)


def kept_sizes(scheduler: Scheduler) -> list[int]:
    return sorted(kept.tokens.size for kept in scheduler.lanes.store._kept)


def test_where_conversations_part_is_kept_by_itself() -> None:
    decoder = FakeDecoder(sequences=2, batch_tokens=200)
    scheduler = Scheduler(decoder, KEPT)
    for n in range(6):
        run(scheduler, job := FakeJob([*SYSTEM, *[n] * 70], 1))
        assert job.reused == (len(SYSTEM) if n else 0)
    assert kept_sizes(scheduler).count(len(SYSTEM)) == 1


def test_what_is_kept_stays_within_its_bytes() -> None:
    limit = 4 * 400
    decoder = FakeDecoder(sequences=1, batch_tokens=200)
    scheduler = Scheduler(decoder, limit)
    for n in range(9):
        run(scheduler, FakeJob([*SYSTEM, *[n] * 70], 1))
        assert scheduler.lanes.store.bytes <= limit
    assert len(SYSTEM) in kept_sizes(scheduler)


def test_a_conversation_continued_from_a_store_with_room_for_one() -> None:
    """What is put away for its sake drives it out of the store while it is copied."""
    decoder = FakeDecoder(sequences=1, batch_tokens=200)
    scheduler = Scheduler(decoder, 4 * 120)
    run(scheduler, first := FakeJob(SYSTEM, 1))
    run(scheduler, FakeJob([5] * 100, 1))
    run(scheduler, again := FakeJob([*first.tokens, 7, 7], 3))
    assert again.reused == len(SYSTEM)
    assert again.made.tokens == again.expected()


def test_nothing_is_kept_where_nothing_may_be() -> None:
    decoder = FakeDecoder(sequences=1, batch_tokens=200)
    scheduler = Scheduler(decoder, 0)
    run(scheduler, FakeJob(SYSTEM, 1), FakeJob([5] * 100, 1), again := FakeJob(SYSTEM, 1))
    assert again.reused == 0
    assert len(scheduler.lanes.store) == 0


def started(decoder: FakeDecoder, count: int, length: int) -> tuple[Scheduler, list[FakeJob]]:
    scheduler = Scheduler(decoder, KEPT)
    jobs = [FakeJob([n, n + 1], length) for n in range(count)]
    for job in jobs:
        scheduler.add(job)
    scheduler.turn()
    return scheduler, jobs


def test_a_narrow_gap_between_running_lanes_is_filled_and_left_as_it_was() -> None:
    decoder = FakeDecoder(sequences=8, batch_tokens=64)
    scheduler, jobs = started(decoder, 8, 9)
    for number in (2, 4, 5, 6):
        jobs[number].given_up = True
    kept = list(jobs[7].tokens)
    scheduler.turn()
    last = decoder.calls[-1]
    # Three lanes together are no narrow gap.
    assert [span.sequence for span in last] == [0, 1, 2, 3, 7]
    assert not last[2].wants_logits
    assert decoder.held[2] == []
    assert jobs[7].tokens[: len(kept)] == kept
    run(scheduler)
    assert all(job.made.tokens == job.expected() for job in jobs if not job.given_up)


@pytest.mark.parametrize(("count", "most"), [(2, 3), (5, 1)])
def test_few_forced_tokens_go_beside_many_replies_one_a_turn(count: int, most: int) -> None:
    decoder = FakeDecoder(sequences=8, batch_tokens=64)
    scheduler, jobs = started(decoder, count, 20)
    # Every third choice of a fake reply forces two tokens more.
    for _ in range(9):
        scheduler.turn()
    assert max(len(span.tokens) for call in decoder.calls[1:] for span in call) == most
    run(scheduler)
    assert all(job.made.tokens == job.expected() for job in jobs)


def test_what_is_forced_first_is_computed_with_the_prompt() -> None:
    decoder = FakeDecoder(batch_tokens=64)
    scheduler = Scheduler(decoder, KEPT)
    scheduler.add(job := FakeJob([1, 2], 30, opening=[9] * 20))
    scheduler.turn()
    assert [len(span.tokens) for span in decoder.calls[0]] == [22]
    run(scheduler)
    assert job.made.tokens == job.expected()
