"""The one thread that owns a context: jobs come in from anywhere, turns happen here."""

from __future__ import annotations

import threading
from collections.abc import Callable

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.batched.job import Job
from arigraph_local.llm.batched.scheduler import Scheduler


class EngineThread:
    """Runs a scheduler until it is closed. All methods may be called from any thread.

    Whatever happens, every job is finished or failed: if the thread dies, those that wait and
    those that come later get the reason.
    """

    def __init__(self, scheduler: Scheduler, *, name: str, free: Callable[[], None]) -> None:
        """`name` is what errors call the engine; `free` is called when no more turns come."""
        self._scheduler = scheduler
        self._name = name
        self._free = free
        self._inbox: list[Job] = []
        self._changed = threading.Condition()
        self._closing = False
        self._ended: ArigraphError | None = None
        # A daemon, because an engine that nobody closed must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name=f"engine {name}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Hand over a job. Raises `ArigraphError` if the engine has ended."""
        with self._changed:
            if self._ended is not None:
                raise self._ended
            if self._closing:
                raise self._closed()
            self._inbox.append(job)
            self._changed.notify()

    def close(self) -> None:
        """End the thread; jobs that are not done fail. Closing twice is harmless."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        # A reply's callback may close the engine that it came from.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            while self._take_jobs():
                self._scheduler.turn()
            reason = self._closed()
        except BaseException as error:
            reason = ArigraphError(f"the engine of {self._name} stopped: {_told(error)}")
            reason.__cause__ = error
        self._end(reason)

    def _take_jobs(self) -> bool:
        """Move new jobs to the scheduler, waiting for one if there is nothing to do.

        False when the engine is to close.
        """
        with self._changed:
            while not (self._closing or self._inbox or self._scheduler.busy):
                self._changed.wait()
            arrived, self._inbox = self._inbox, []
            closing = self._closing
        for job in arrived:
            self._scheduler.add(job)
        return not closing

    def _end(self, reason: ArigraphError) -> None:
        with self._changed:
            self._ended = reason
            arrived, self._inbox = self._inbox, []
        for job in arrived:
            job.fail(reason)
        self._scheduler.fail_all(reason)
        self._free()

    def _closed(self) -> ArigraphError:
        return ArigraphError(f"the engine of {self._name} is closed")


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
