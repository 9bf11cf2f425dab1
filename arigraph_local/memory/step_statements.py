"""The statements that write one step to the database.

One fact a statement: `UNWIND` with `MERGE` silently builds wrong edges, with `MATCH` it scans whole
tables, and two facts in one statement are no faster. A fact and its edges together are.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping

from arigraph_local.memory.graph_database import Value
from arigraph_local.memory.mirror import GraphMirror, StepPlan
from arigraph_local.memory.store import Fact
from arigraph_local.memory.triplet import Triplet

Statement = tuple[str, dict[str, Value]]

BEGIN = "BEGIN TRANSACTION"
COMMIT = "COMMIT"

_ENTITIES_PER_STATEMENT = 8
_EPISODE = "(:Episode {step: $step, text: $text, digest: $digest})"
_WORDING = "wording_subject: $subject, wording_relation: $relation, wording_object: $object"
_NEW_FACT = (
    "MATCH (p:Episode {step: $step}), (s:Entity {id: $s}), (o:Entity {id: $o}) "
    "CREATE (s)<-[:SUBJECT]-(f:Fact {id: $id, relation: $r, current: true})-[:OBJECT]->(o), "
    "(p)-[:MENTIONS {%s}]->(f)"
)
_MENTION = "MATCH (p:Episode {step: $step}), (f:Fact {id: $id}) CREATE (p)-[:MENTIONS {%s}]->(f)"
_RETIRE = (
    "MATCH (p:Episode {step: $start})-[m:MENTIONS]->(f:Fact {id: $id}), (r:Fact {id: $by}) "
    "SET m.until = $step, m.replaced_by = $by, m.reason = $reason, f.current = false "
    "CREATE (f)-[:RETIRED_BY {step: $step}]->(r)"
)


def step_statements(plan: StepPlan, mirror: GraphMirror) -> Iterator[Statement]:
    """What to run between `BEGIN` and `COMMIT`; `mirror` is the graph before the step.

    Retiring comes before learning, so that a fact both retired and learned again ends current.
    """
    yield from _nodes(plan)
    new = {name: entity_id for entity_id, name in plan.entities}
    ids = ChainMap(new, mirror.entity_ids)
    for fact in plan.new_facts:
        yield _new_fact(plan.step, fact, ids, plan.wordings.get(fact.id))
    for gone in plan.retired:
        start = mirror.intervals[gone.fact_id][-1].start
        yield (
            _RETIRE,
            {
                "start": start,
                "id": gone.fact_id,
                "by": gone.replacement_id,
                "step": plan.step,
                "reason": gone.reason,
            },
        )
    created = {fact.id for fact in plan.new_facts}
    relearned = {fact.id for fact in plan.relearned}
    for fact_id in plan.mentions:
        if fact_id not in created:
            yield _mention(plan.step, fact_id, fact_id in relearned, plan.wordings.get(fact_id))


def _nodes(plan: StepPlan) -> Iterator[Statement]:
    for first in range(0, max(len(plan.entities), 1), _ENTITIES_PER_STATEMENT):
        entities = plan.entities[first : first + _ENTITIES_PER_STATEMENT]
        nodes = [f"(:Entity {{id: $id{n}, name: $name{n}}})" for n in range(len(entities))]
        values: dict[str, Value] = {}
        if first == 0:
            nodes.insert(0, _EPISODE)
            values = {"step": plan.step, "text": plan.text, "digest": plan.digest}
        for n, (entity_id, name) in enumerate(entities):
            values |= {f"id{n}": entity_id, f"name{n}": name}
        yield "CREATE " + ", ".join(nodes), values


def _new_fact(step: int, fact: Fact, ids: Mapping[str, int], wording: Triplet | None) -> Statement:
    triplet = fact.triplet
    values: dict[str, Value] = {
        "step": step,
        "id": fact.id,
        "s": ids[triplet.subject],
        "r": triplet.relation,
        "o": ids[triplet.object],
    }
    if wording is not None:
        values |= _wording_values(wording)
    return _NEW_FACT % _mention_properties(True, wording), values


def _mention(step: int, fact_id: int, relearned: bool, wording: Triplet | None) -> Statement:
    values: dict[str, Value] = {"step": step, "id": fact_id}
    if wording is not None:
        values |= _wording_values(wording)
    text = _MENTION % _mention_properties(relearned, wording)
    return (f"{text} SET f.current = true" if relearned else text), values


def _mention_properties(learned: bool, wording: Triplet | None) -> str:
    properties = "learned: true" if learned else "learned: false"
    return properties if wording is None else f"{properties}, {_WORDING}"


def _wording_values(wording: Triplet) -> dict[str, Value]:
    return {
        "subject": wording.subject,
        "relation": wording.relation,
        "object": wording.object,
    }
