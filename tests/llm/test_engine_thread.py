from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest
from fake_decoder import FakeDecoder
from fake_job import FakeJob

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.engine_thread import EngineThread
from arigraph_local.llm.batched.scheduler import Scheduler
from arigraph_local.llm.llama.llama_decoder import Span

PATIENCE = 20


class WaitedJob(FakeJob):
    """Lets a test wait for its end."""

    def __init__(self, prompt: Sequence[int], length: int = 4) -> None:
        super().__init__(prompt, length)
        self.ended = threading.Event()

    def finish(self) -> None:
        super().finish()
        self.ended.set()

    def fail(self, error: BaseException) -> None:
        super().fail(error)
        self.ended.set()


class Engine:
    """A thread over a fake decoder that can be held up or made to raise."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()
        self.error: BaseException | None = None
        self.decoder = FakeDecoder(sequences=2, fails=self._before)
        self.thread = EngineThread(Scheduler(self.decoder, 0), name="fake", free=self.decoder.free)

    def _before(self, spans: Sequence[Span]) -> int:
        self.reached.set()
        assert self.gate.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return 0


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.gate.set()
    made.thread.close()


def test_jobs_of_many_threads_all_end(engine: Engine) -> None:
    jobs = [WaitedJob([n, n]) for n in range(40)]
    threads = [
        threading.Thread(target=lambda part: [*map(engine.thread.submit, part)], args=(jobs[n::4],))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for job in jobs:
        assert job.ended.wait(PATIENCE)
        assert job.made.tokens == job.expected()


def test_closing_fails_those_that_wait_and_frees_the_decoder(engine: Engine) -> None:
    engine.gate.clear()
    jobs = [WaitedJob([n, n], 999) for n in range(5)]
    for job in jobs:
        engine.thread.submit(job)
    assert engine.reached.wait(PATIENCE)
    engine.gate.set()
    engine.thread.close()
    assert engine.decoder.freed
    assert all("engine of fake is closed" in str(job.error) for job in jobs)
    with pytest.raises(ArigraphError, match="engine of fake is closed"):
        engine.thread.submit(WaitedJob([1]))
    engine.thread.close()


@pytest.mark.parametrize("error", [ValueError("a\nb"), SystemExit(3)])
def test_when_the_thread_dies_nobody_waits_for_ever(engine: Engine, error: BaseException) -> None:
    engine.error = error
    engine.gate.clear()
    jobs = [WaitedJob([n, n]) for n in range(5)]
    for job in jobs:
        engine.thread.submit(job)
    engine.gate.set()
    for job in jobs:
        assert job.ended.wait(PATIENCE)
        assert isinstance(job.error, ArigraphError)
        assert f"the engine of fake stopped: {type(error).__name__}" in str(job.error)
        assert "\n" not in str(job.error)
    engine.thread.close()
    assert engine.decoder.freed
    with pytest.raises(ArigraphError, match="the engine of fake stopped"):
        engine.thread.submit(WaitedJob([1]))


def test_a_reply_may_close_the_engine_it_comes_from(engine: Engine) -> None:
    job = WaitedJob([1, 2], 99)
    job.made.extend = lambda logits, best=None: engine.thread.close() or [1]  # type: ignore
    engine.thread.submit(job)
    assert job.ended.wait(PATIENCE)
    assert "closed" in str(job.error)
