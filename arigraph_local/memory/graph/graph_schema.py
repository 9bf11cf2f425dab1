"""The schema of the graph in a database, and reading a whole database into a `GraphMirror`.

    (Entity)<-[SUBJECT]-(Fact)-[OBJECT]->(Entity)    a reified triplet
    (Episode)-[MENTIONS {learned, until, replaced_by, reason,
               wording_subject, wording_relation, wording_object}]->(Fact)
                                                     the episodic edge E_s of a step
    (Fact)-[RETIRED_BY {step}]->(Fact)               what retired it

A mention with `learned = true` begins an interval of its fact: it starts at the episode's step and
is open while `until` is NULL. The wording is what was extracted, NULL where it is the fact itself.
`Episode.digest` is that of `step_digest`.

Patterns need an arrow: edges are stored in their own direction only, which halves the memory of
an open graph and the time to open it. The version is in the comment of the table `Fact`, because
a table for it would take as much memory as all facts of a game.

The facts current just after step s:
    MATCH (p:Episode)-[m:MENTIONS]->(f:Fact)
    WHERE m.learned AND p.step <= s AND (m.until IS NULL OR m.until > s) RETURN f
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from arigraph_local.errors import GraphError
from arigraph_local.memory.graph.graph_database import DatabaseKind, GraphDatabase
from arigraph_local.memory.graph.mirror import GraphMirror
from arigraph_local.memory.graph.store import Episode, Fact, Interval
from arigraph_local.memory.triplet import Triplet

SCHEMA_VERSION = 2

_MARK = "graph of arigraph-local, version "
_ONE_WAY = "WITH (storage_direction = 'fwd')"
_TABLES = (
    "CREATE NODE TABLE Entity(id INT64, name STRING, PRIMARY KEY(id))",
    "CREATE NODE TABLE Fact(id INT64, relation STRING, current BOOL, PRIMARY KEY(id))",
    "CREATE NODE TABLE Episode(step INT64, text STRING, digest STRING, PRIMARY KEY(step))",
    f"CREATE REL TABLE SUBJECT(FROM Fact TO Entity) {_ONE_WAY}",
    f"CREATE REL TABLE OBJECT(FROM Fact TO Entity) {_ONE_WAY}",
    "CREATE REL TABLE MENTIONS(FROM Episode TO Fact, learned BOOL, until INT64, "
    "replaced_by INT64, reason STRING, wording_subject STRING, wording_relation STRING, "
    f"wording_object STRING) {_ONE_WAY}",
    f"CREATE REL TABLE RETIRED_BY(FROM Fact TO Fact, step INT64) {_ONE_WAY}",
    f"COMMENT ON TABLE Fact IS '{_MARK}{SCHEMA_VERSION}'",
)

_ENTITIES = "MATCH (e:Entity) RETURN e.id, e.name"
_FACTS = (
    "MATCH (s:Entity)<-[:SUBJECT]-(f:Fact)-[:OBJECT]->(o:Entity) "
    "RETURN f.id, s.name, f.relation, o.name, f.current"
)
_EPISODES = "MATCH (p:Episode) RETURN p.step, p.text, p.digest"
_MENTIONS = (
    "MATCH (p:Episode)-[m:MENTIONS]->(f:Fact) RETURN p.step, f.id, m.learned, m.until, "
    "m.replaced_by, m.reason, m.wording_subject, m.wording_relation, m.wording_object"
)
_RETIRED_BY = "MATCH (f:Fact)-[r:RETIRED_BY]->(g:Fact) RETURN f.id, g.id, r.step"


class FormatError(GraphError):
    """The database is sound, but holds no graph that this version reads."""


class DamageError(GraphError):
    """The database can be read, but what it holds is no whole graph; the message says why."""


def ensure_schema(database: GraphDatabase, kind: DatabaseKind, where: str) -> None:
    """Create the tables in an empty database, all or none; check their version in any other.

    Raises `FormatError` naming `where` if the database holds something else.
    """
    tables = dict(database.rows("CALL show_tables() RETURN name, comment"))
    if not tables:
        database.execute("BEGIN TRANSACTION")
        for statement in _TABLES:
            database.execute(statement)
        database.execute("COMMIT")
        return
    version = _version(tables)
    if version is None:
        raise FormatError(f"{where} is a {kind.title} database, but not a graph of arigraph-local")
    if version != str(SCHEMA_VERSION):
        raise FormatError(
            f"{where} has graph format {version}, this version reads {SCHEMA_VERSION}: "
            "rebuild it from the run's events"
        )


def _version(tables: dict[str, str]) -> str | None:
    mark = tables.get("Fact", "")
    if mark.startswith(_MARK):
        return mark.removeprefix(_MARK)
    return "1" if {"Schema", "Fact", "LEARNED"} <= tables.keys() else None


def load_mirror(database: GraphDatabase) -> GraphMirror:
    """Everything in the database. Raises `DamageError` if it is not a whole graph."""
    mirror = GraphMirror()
    entities = sorted(database.rows(_ENTITIES))
    mirror.entity_ids = {name: entity_id for entity_id, name in entities}
    facts = sorted(database.rows(_FACTS))
    for fact_id, subject, relation, object_, _ in facts:
        mirror.add_fact(Fact(fact_id, Triplet(subject, relation, object_)))
    mentions = sorted(database.rows(_MENTIONS), key=lambda row: (row[0], row[1]))
    _check(len(mirror.facts) == len(facts), "a fact has two subjects or objects")
    mentioned = {row[1] for row in mentions}
    _check(mentioned == set(mirror.facts), "a fact lacks its subject, object or mention")
    episodes = sorted(database.rows(_EPISODES))
    _add_mentions(mirror, mentions, episodes)
    _check_dense(entities, "entities")
    _check_dense(facts, "facts")
    _check(len(mirror.fact_ids) == len(facts), "two facts have the same triplet")
    _check(list(mirror.entity_facts) == list(mirror.entity_ids), "entities lack facts")
    _check({row[0] for row in facts if row[4]} == mirror.current_ids, "current facts are not open")
    _check_intervals(mirror, sorted(database.rows(_RETIRED_BY)))
    return mirror


def _add_mentions(
    mirror: GraphMirror, mentions: list[list[Any]], episodes: list[list[Any]]
) -> None:
    mentioned: dict[int, set[int]] = defaultdict(set)
    wordings: dict[int, dict[int, Triplet]] = defaultdict(dict)
    for step, fact_id, learned, until, replaced_by, reason, *wording in mentions:
        _check(fact_id not in mentioned[step], "an episode mentions a fact twice")
        mentioned[step].add(fact_id)
        if learned:
            mirror.add_interval(fact_id, Interval(step, until, replaced_by, reason))
        if wording != [None, None, None]:
            _check(None not in wording, "a wording has parts only")
            wordings[step][fact_id] = Triplet(*wording)
    for step, text, digest in episodes:
        episode = Episode(step, text, frozenset(mentioned[step]))
        mirror.add_episode(episode, digest, wordings.get(step))


def _check_intervals(mirror: GraphMirror, retired_by: list[list[Any]]) -> None:
    closed = []
    for fact_id, intervals in mirror.intervals.items():
        _check(bool(intervals), "a fact was never learned")
        _check(intervals[0].start == mirror.mention_steps[fact_id][0], "a fact begins late")
        for interval, following in zip(intervals, [*intervals[1:], None], strict=True):
            if interval.end is None:
                _check(following is None and interval.replaced_by is None, "intervals overlap")
                continue
            _check(
                interval.start < interval.end
                and interval.end in mirror.episodes
                and interval.replaced_by in mirror.episodes[interval.end].fact_ids
                and interval.reason is not None
                and (following is None or interval.end <= following.start),
                "an interval does not end as it should",
            )
            closed.append([fact_id, interval.replaced_by, interval.end])
    _check(sorted(closed) == retired_by, "facts and what retired them disagree")


def _check_dense(rows: list[list[Any]], what: str) -> None:
    _check([row[0] for row in rows] == list(range(1, len(rows) + 1)), f"{what} are missing")


def _check(holds: bool, reason: str) -> None:
    if not holds:
        raise DamageError(reason)
