"""The graph store on an embedded graph database: one file, one writing process."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from arigraph_local.errors import ArigraphError, RunError
from arigraph_local.lock import Lock
from arigraph_local.memory.graph.examining import damaged, examine
from arigraph_local.memory.graph.graph_database import (
    LARGEST_POOL_BYTES,
    SMALLEST_POOL_BYTES,
    DatabaseKind,
    GraphDatabase,
    database_files,
    one_line,
    out_of_pool,
)
from arigraph_local.memory.graph.graph_files import lock_graph, require_writable
from arigraph_local.memory.graph.graph_opening import larger_pool, open_graph
from arigraph_local.memory.graph.graph_schema import DamageError
from arigraph_local.memory.graph.mirror import GraphMirror, StepPlan
from arigraph_local.memory.graph.mirrored import MirroredStore
from arigraph_local.memory.graph.seal import matches_files, read_seal, remove_seal, write_seal
from arigraph_local.memory.graph.snapshot import read_snapshot, write_snapshot
from arigraph_local.memory.graph.step_statements import BEGIN, COMMIT, step_statements
from arigraph_local.memory.graph.store import StepChange, StepOutcome


class DatabaseStore(MirroredStore):
    """A `Store` in the file `path`, or in memory when it is None.

    Reads are answered by a mirror in Python. That of a graph closed in good order comes from its
    snapshot, and the database itself is opened by the first write. Raises `RunError` if the file
    cannot be opened or is open elsewhere, `GraphError` if it is damaged or is not a graph.
    """

    kind: ClassVar[DatabaseKind]

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._where = "the graph in memory" if path is None else str(path)
        self._mirror = GraphMirror()
        self._in_memory: list[StepPlan] = []
        self._sealed = False
        self._closed = True
        self._opened: GraphDatabase | None = None
        self._lock: Lock | None = None if path is None else lock_graph(path)
        try:
            self._open_first()
        except BaseException:
            self._unlock()
            raise

    @property
    def path(self) -> Path | None:
        """The database file; None in memory."""
        return self._path

    def apply(self, change: StepChange) -> StepOutcome:
        """Write one step, all of it or nothing; see `Store.apply`.

        Retirements take effect before learning, so a fact both retired and learned in one step
        ends current, with a new interval. Raises `RunError` if the database refuses the write;
        the database is then opened afresh.
        """
        if self._closed:
            raise RunError(f"{self._where} is closed")
        _require_unicode(change)
        plan = self._mirror.plan(change)
        if self._sealed and self._path is not None:
            self._open_database()
            remove_seal(self._path)
            self._sealed = False
        while not self._written(plan):
            pass
        outcome = self._mirror.commit(plan)
        if self._path is None:
            self._in_memory.append(plan)
        return outcome

    def close(self) -> None:
        """Release the file. Closing twice is harmless; reads still answer from the mirror."""
        if not self._closed:
            self._closed = True
            if self._opened is not None:
                self._opened.close()
            if self._path is not None and not self._sealed:
                write_snapshot(self._path, self._mirror)
                write_seal(self._path, self.kind, self._mirror)
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _written(self, plan: StepPlan) -> bool:
        """Write a plan. False if the database ran out of memory and has been given more."""
        try:
            self._write(plan, self._mirror)
        except BaseException as error:
            reached, pool = self._reopen(error)
            if not isinstance(error, RuntimeError):
                # Interrupted: the step may have been finished, and then belongs to the mirror.
                self._mirror = reached
                raise
            # A commit can fail after the step has reached the disk.
            if reached.last_step == plan.step:
                return True
            if reached.last_step != self._mirror.last_step:
                self._closed = True
                self._database.close()
                raise damaged(self._where, "finished steps are lost") from error
            if out_of_pool(error) and self._database.pool_bytes > pool:
                return False
            raise RunError(
                f"cannot write step {plan.step} to {self._where}: {one_line(error)}"
            ) from error
        return True

    def _write(self, plan: StepPlan, before: GraphMirror) -> None:
        self._database.run(BEGIN)
        for statement, values in step_statements(plan, before, self.kind.facts_per_statement):
            self._database.run(statement, values)
        self._database.run(COMMIT)

    def _reopen(self, error: BaseException) -> tuple[GraphMirror, int]:
        """Open the database afresh; what it holds now, and the memory it was allowed before.

        After a ROLLBACK later writes crash Kùzu or fail: only a fresh database is sound.
        """
        self._closed = True
        pool = self._database.pool_bytes
        if "IO exception" in str(error):
            self._database.abandon()
        else:
            self._database.close()
        wanted = larger_pool(pool) if out_of_pool(error) and pool < LARGEST_POOL_BYTES else pool
        self._opened, mirror = self._open(wanted)
        for plan in self._in_memory:
            self._write(plan, mirror)
            mirror.commit(plan)
        self._closed = False
        return mirror, pool

    @property
    def _database(self) -> GraphDatabase:
        return self._open_database()

    def _open_database(self) -> GraphDatabase:
        """The database, opened if the mirror came from a snapshot and it was not needed yet."""
        if self._opened is None:
            opened, mirror = self._open(SMALLEST_POOL_BYTES)
            if mirror.last_digest != self._mirror.last_digest:
                opened.close()
                raise damaged(self._where, "it is not what it was when it was last closed")
            self._opened = opened
        return self._opened

    def _open_first(self) -> None:
        mirror = None if self._path is None else self._sealed_mirror(self._path)
        if mirror is None:
            self._opened, mirror = self._open(SMALLEST_POOL_BYTES)
        self._mirror = mirror
        self._closed = False

    def _open(self, pool: int) -> tuple[GraphDatabase, GraphMirror]:
        try:
            return open_graph(self.kind, self._path, self._where, pool)
        except DamageError as error:
            raise damaged(self._where, str(error)) from error

    def _sealed_mirror(self, path: Path) -> GraphMirror | None:
        """The mirror of a sealed graph, if its snapshot gives it.

        Raises `RunError` unless the seal or a child process shows the graph safe to open.
        """
        require_writable(path)
        if not database_files(path):
            return None
        seal = read_seal(path)
        if seal is not None and matches_files(seal, path, self.kind):
            self._sealed = True
            return read_snapshot(path, seal.last_step, seal.digest)
        examine(self.kind, path, self._where)
        return None

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()


def _require_unicode(change: StepChange) -> None:
    texts = [change.text]
    triplets = [*change.learned, *change.wordings.values()]
    texts += (part for t in triplets for part in (t.subject, t.relation, t.object))
    texts += (retirement.reason for retirement in change.retired)
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArigraphError(
                f"step {change.step} has text that is not valid Unicode: {text[:60]!r}"
            ) from error
