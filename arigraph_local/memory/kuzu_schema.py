"""The Kùzu schema, and reading a whole database into a `GraphMirror`.

    (Entity)<-[SUBJECT]-(Fact)-[OBJECT]->(Entity)    a reified triplet
    (Episode)-[MENTIONS]->(Fact)                     the episodic edge E_s of a step
    (Episode)-[LEARNED {until, replaced_by, reason}]->(Fact)
                                                     an interval: it starts at the episode's step
                                                     and is open while `until` is NULL
    (Fact)-[RETIRED_BY {step}]->(Fact)               what retired it

The facts current just after step s:
    MATCH (p:Episode)-[l:LEARNED]->(f:Fact)
    WHERE p.step <= s AND (l.until IS NULL OR l.until > s) RETURN f
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from arigraph_local.errors import RunError
from arigraph_local.memory.mirror import GraphMirror
from arigraph_local.memory.store import Episode, Fact, Interval
from arigraph_local.memory.triplet import Triplet

SCHEMA_VERSION = 1

_TABLES = (
    "CREATE NODE TABLE Schema(version INT64, PRIMARY KEY(version))",
    "CREATE NODE TABLE Entity(id INT64, name STRING, PRIMARY KEY(id))",
    "CREATE NODE TABLE Fact(id INT64, relation STRING, current BOOL, PRIMARY KEY(id))",
    "CREATE NODE TABLE Episode(step INT64, text STRING, PRIMARY KEY(step))",
    "CREATE REL TABLE SUBJECT(FROM Fact TO Entity)",
    "CREATE REL TABLE OBJECT(FROM Fact TO Entity)",
    "CREATE REL TABLE MENTIONS(FROM Episode TO Fact)",
    "CREATE REL TABLE LEARNED(FROM Episode TO Fact, until INT64, replaced_by INT64, reason STRING)",
    "CREATE REL TABLE RETIRED_BY(FROM Fact TO Fact, step INT64)",
    f"CREATE (:Schema {{version: {SCHEMA_VERSION}}})",
)

_ENTITIES = "MATCH (e:Entity) RETURN e.id, e.name"
_FACTS = (
    "MATCH (s:Entity)<-[:SUBJECT]-(f:Fact)-[:OBJECT]->(o:Entity) "
    "RETURN f.id, s.name, f.relation, o.name"
)
_EPISODES = "MATCH (p:Episode) RETURN p.step, p.text"
_MENTIONS = "MATCH (p:Episode)-[:MENTIONS]->(f:Fact) RETURN p.step, f.id"
_INTERVALS = (
    "MATCH (p:Episode)-[l:LEARNED]->(f:Fact) RETURN f.id, p.step, l.until, l.replaced_by, l.reason"
)


def ensure_schema(connection: Any, where: str) -> None:
    """Create the tables in an empty database, all or none; check their version in any other.

    Raises `RunError` naming `where` if the database holds something else.
    """
    tables = {str(row[0]) for row in _rows(connection, "CALL show_tables() RETURN name")}
    if not tables:
        connection.execute("BEGIN TRANSACTION").close()
        for statement in _TABLES:
            connection.execute(statement).close()
        connection.execute("COMMIT").close()
        return
    if "Schema" not in tables:
        raise RunError(f"{where} is a Kùzu database, but not a graph of arigraph-local")
    versions = [row[0] for row in _rows(connection, "MATCH (s:Schema) RETURN s.version")]
    if versions != [SCHEMA_VERSION]:
        raise RunError(
            f"{where} has graph format {versions}, this version reads {SCHEMA_VERSION}: "
            "rebuild it from the run's events"
        )


def load_mirror(connection: Any, where: str) -> GraphMirror:
    """Everything in the database. Raises `RunError` naming `where` if parts are missing."""
    mirror = GraphMirror()
    mirror.entity_ids = {name: entity_id for entity_id, name in _rows(connection, _ENTITIES)}
    for fact_id, subject, relation, object_ in sorted(_rows(connection, _FACTS)):
        mirror.add_fact(Fact(fact_id, Triplet(subject, relation, object_)))
    for fact_id, start, until, replaced_by, reason in sorted(
        _rows(connection, _INTERVALS), key=lambda row: (row[0], row[1])
    ):
        mirror.add_interval(fact_id, Interval(start, until, replaced_by, reason))
    mentions: dict[int, set[int]] = defaultdict(set)
    for step, fact_id in _rows(connection, _MENTIONS):
        mentions[step].add(fact_id)
    for step, text in sorted(_rows(connection, _EPISODES)):
        mirror.add_episode(Episode(step, text, frozenset(mentions[step])))
    _check_whole(connection, mirror, where)
    return mirror


def _check_whole(connection: Any, mirror: GraphMirror, where: str) -> None:
    current = {row[0] for row in _rows(connection, "MATCH (f:Fact) WHERE f.current RETURN f.id")}
    counted = next(_rows(connection, "MATCH (f:Fact) RETURN count(*)"))[0]
    whole = (
        counted == len(mirror.facts)
        and current == mirror.current_ids
        and sorted(mirror.facts) == list(range(1, counted + 1))
        and sorted(mirror.entity_ids.values()) == list(range(1, len(mirror.entity_ids) + 1))
    )
    if not whole:
        raise RunError(f"{where} is damaged: rebuild it from the run's events")


def _rows(connection: Any, query: str) -> Iterator[list[Any]]:
    result = connection.execute(query)
    try:
        while result.has_next():
            yield result.get_next()
    finally:
        result.close()
