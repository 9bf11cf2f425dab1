"""The graph store on Kùzu, an embedded graph database: one file, one writing process."""

from __future__ import annotations

import ctypes
import warnings
import weakref
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from arigraph_local.errors import ArigraphError, RunError
from arigraph_local.memory.kuzu_schema import ensure_schema, load_mirror
from arigraph_local.memory.mirror import GraphMirror, StepPlan
from arigraph_local.memory.mirrored import MirroredStore
from arigraph_local.memory.store import StepChange, StepOutcome

_BUFFER_POOL_BYTES = 64 << 20
_MAX_DATABASE_BYTES = 1 << 30

# One row a statement: UNWIND with MERGE silently builds wrong edges in Kùzu 0.11.
_STATEMENTS = {
    "begin": "BEGIN TRANSACTION",
    "commit": "COMMIT",
    "episode": "CREATE (:Episode {step: $step, text: $text})",
    "entity": "CREATE (:Entity {id: $id, name: $name})",
    "fact": (
        "MATCH (s:Entity {id: $subject}), (o:Entity {id: $object}) "
        "CREATE (s)<-[:SUBJECT]-(:Fact {id: $id, relation: $relation, current: true})"
        "-[:OBJECT]->(o)"
    ),
    "learn": (
        "MATCH (p:Episode {step: $step}), (f:Fact {id: $id}) "
        "CREATE (p)-[:MENTIONS]->(f), (p)-[:LEARNED]->(f) SET f.current = true"
    ),
    "mention": ("MATCH (p:Episode {step: $step}), (f:Fact {id: $id}) CREATE (p)-[:MENTIONS]->(f)"),
    "close": (
        "MATCH (f:Fact {id: $id})<-[l:LEARNED]-(:Episode) WHERE l.until IS NULL "
        "SET l.until = $step, l.replaced_by = $by, l.reason = $reason, f.current = false"
    ),
    "retired_by": (
        "MATCH (f:Fact {id: $id}), (r:Fact {id: $by}) CREATE (f)-[:RETIRED_BY {step: $step}]->(r)"
    ),
}

# File locks belong to the process, so Kùzu lets one process open a file twice and corrupt it.
_open_files: set[Path] = set()


class KuzuStore(MirroredStore):
    """A `Store` in the file `path`, or in memory when it is None.

    Reads are answered by a mirror in Python that is rebuilt when the file is opened. The file is
    never checkpointed: a kill during a checkpoint can leave it unreadable, and replaying the
    write-ahead log is fast. Raises `RunError` if the file cannot be opened, is open elsewhere,
    or is not a graph.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._where = "the graph in memory" if path is None else str(path)
        self._mirror = GraphMirror()
        self._in_memory: list[StepPlan] = []
        self._closed = True
        self._release = _reserve(self, path)
        try:
            self._open()
        except BaseException:
            self._release()
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
        try:
            self._write(plan)
            outcome = self._mirror.commit(plan)
        except BaseException as error:
            self._abort(error)
            if isinstance(error, RuntimeError):
                raise RunError(
                    f"cannot write step {change.step} to {self._where}: {_one_line(error)}"
                ) from error
            raise
        if self._path is None:
            self._in_memory.append(plan)
        return outcome

    def close(self) -> None:
        """Release the file. Closing twice is harmless; reads still answer from the mirror."""
        if not self._closed:
            self._closed = True
            _disconnect(self._connection, self._database)
        self._release()

    def __enter__(self) -> KuzuStore:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, plan: StepPlan) -> None:
        step, known = plan.step, self._mirror.entity_ids
        self._run("begin")
        self._run("episode", step=step, text=plan.text)
        for gone in plan.retired:
            self._run(
                "close", id=gone.fact_id, step=step, by=gone.replacement_id, reason=gone.reason
            )
        ids = ChainMap({name: entity_id for entity_id, name in plan.entities}, known)
        for entity_id, name in plan.entities:
            self._run("entity", id=entity_id, name=name)
        for fact in plan.new_facts:
            triplet = fact.triplet
            self._run(
                "fact",
                id=fact.id,
                subject=ids[triplet.subject],
                relation=triplet.relation,
                object=ids[triplet.object],
            )
        added = {fact.id for fact in (*plan.new_facts, *plan.relearned)}
        for fact_id in plan.mentions:
            self._run("learn" if fact_id in added else "mention", step=step, id=fact_id)
        for gone in plan.retired:
            self._run("retired_by", id=gone.fact_id, by=gone.replacement_id, step=step)
        self._run("commit")

    def _run(self, statement: str, **parameters: int | str) -> None:
        self._connection.execute(self._prepared[statement], parameters).close()

    def _abort(self, error: BaseException) -> None:
        # After a ROLLBACK, later writes crash Kùzu 0.11 or fail: only a fresh database is sound.
        self._closed = True
        if "IO exception" in str(error):
            _abandon(self._connection, self._database)
        else:
            _disconnect(self._connection, self._database)
        mirror = self._mirror
        try:
            self._open()
        except BaseException:
            self._mirror = mirror
            raise

    def _open(self) -> None:
        self._database, self._connection = _connect(self._path, self._where)
        try:
            ensure_schema(self._connection, self._where)
            self._mirror = load_mirror(self._connection, self._where)
            self._prepared = _prepare(self._connection)
            for plan in self._in_memory:
                self._write(plan)
                self._mirror.commit(plan)
        except BaseException as error:
            _disconnect(self._connection, self._database)
            if isinstance(error, RuntimeError):
                raise RunError(f"cannot read {self._where}: {_one_line(error)}") from error
            raise
        self._closed = False


def _reserve(owner: KuzuStore, path: Path | None) -> Callable[[], object]:
    if path is None:
        return lambda: None
    file = path.resolve()
    if file in _open_files:
        raise RunError(f"{path} is already open in this process")
    _open_files.add(file)
    return weakref.finalize(owner, _open_files.discard, file)


def _connect(path: Path | None, where: str) -> tuple[Any, Any]:
    import kuzu

    try:
        # Kùzu's default size maps 8 TB of address space and fails at the 16th open database.
        database = kuzu.Database(
            ":memory:" if path is None else str(path),
            buffer_pool_size=_BUFFER_POOL_BYTES,
            max_db_size=_MAX_DATABASE_BYTES,
            max_num_threads=2,
            auto_checkpoint=False,
        )
        connection = kuzu.Connection(database)
        connection.execute("CALL force_checkpoint_on_close=false").close()
    except RuntimeError as error:
        if "lock" in str(error):
            raise RunError(f"{where} is open in another process") from error
        raise RunError(f"cannot open the graph {where}: {_one_line(error)}") from error
    return database, connection


def _prepare(connection: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        # Preparing once and executing often is deprecated but about twice as fast.
        warnings.simplefilter("ignore", DeprecationWarning)
        return {name: connection.prepare(text) for name, text in _STATEMENTS.items()}


def _disconnect(connection: Any, database: Any) -> None:
    connection.close()
    database.close()


def _abandon(connection: Any, database: Any) -> None:
    # A database writes out its log when it is destroyed, and if that fails, as on a full disk,
    # the whole process is aborted: one reference more than there are owners keeps it for ever.
    for kept in (connection, database):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _require_unicode(change: StepChange) -> None:
    texts = [change.text]
    for triplet in change.learned:
        texts += (triplet.subject, triplet.relation, triplet.object)
    texts += (retirement.reason for retirement in change.retired)
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArigraphError(
                f"step {change.step} has text that is not valid Unicode: {text[:60]!r}"
            ) from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text.removeprefix("Runtime exception: ").removeprefix("IO exception: ")
