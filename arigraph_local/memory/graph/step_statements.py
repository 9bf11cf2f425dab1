"""The statements that write one step to the database.

`UNWIND` with `MERGE` silently builds wrong edges, and with `MATCH` it scans whole tables. So a
statement writes a few facts with all their edges, as many as are written fastest together.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from arigraph_local.memory.graph.graph_database import Value
from arigraph_local.memory.graph.mirror import GraphMirror, StepPlan
from arigraph_local.memory.graph.store import Fact
from arigraph_local.memory.triplet import Triplet

Statement = tuple[str, dict[str, Value]]
Item = TypeVar("Item")

BEGIN = "BEGIN TRANSACTION"
COMMIT = "COMMIT"

_ENTITIES_PER_STATEMENT = 8
_EPISODE = "(:Episode {step: $step, text: $text, digest: $digest})"
_MENTIONS_PER_STATEMENT = 5
_RETIRE = (
    "MATCH (p:Episode {step: $start})-[m:MENTIONS]->(f:Fact {id: $id}), (r:Fact {id: $by}) "
    "SET m.until = $step, m.replaced_by = $by, m.reason = $reason, f.current = false "
    "CREATE (f)-[:RETIRED_BY {step: $step}]->(r)"
)


@dataclass(frozen=True)
class _Mention:
    """A fact that the episode mentions, and how: learned by it or not, in which words."""

    fact_id: int
    learned: bool
    wording: Triplet | None


def step_statements(
    plan: StepPlan, mirror: GraphMirror, facts_per_statement: int
) -> Iterator[Statement]:
    """What to run between `BEGIN` and `COMMIT`; `mirror` is the graph before the step.

    Retiring comes before learning, so that a fact both retired and learned again ends current.
    """
    yield from _nodes(plan)
    new = {name: entity_id for entity_id, name in plan.entities}
    ids = ChainMap(new, mirror.entity_ids)
    for facts in _groups(plan.new_facts, facts_per_statement):
        yield _new_facts(plan, facts, ids)
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
    mentions = [
        _Mention(fact_id, fact_id in relearned, plan.wordings.get(fact_id))
        for fact_id in plan.mentions
        if fact_id not in created
    ]
    for group in _groups(mentions, _MENTIONS_PER_STATEMENT):
        yield _mentions(plan.step, group)


def _groups(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


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


def _new_facts(plan: StepPlan, facts: Sequence[Fact], ids: Mapping[str, int]) -> Statement:
    """Facts that were never learned before, with their edges."""
    matched, created = ["(p:Episode {step: $step})"], []
    values: dict[str, Value] = {"step": plan.step}
    for n, fact in enumerate(facts):
        matched += [f"(s{n}:Entity {{id: $s{n}}})", f"(o{n}:Entity {{id: $o{n}}})"]
        node = f"(f{n}:Fact {{id: $id{n}, relation: $r{n}, current: true}})"
        created.append(f"(s{n})<-[:SUBJECT]-{node}-[:OBJECT]->(o{n})")
        subject, object_ = (ids[name] for name in fact.triplet.entities)
        values |= {f"s{n}": subject, f"o{n}": object_, f"id{n}": fact.id}
        values[f"r{n}"] = fact.triplet.relation
        mention = _Mention(fact.id, True, plan.wordings.get(fact.id))
        created.append(_edge(n, mention, values))
    return f"MATCH {', '.join(matched)} CREATE {', '.join(created)}", values


def _mentions(step: int, mentions: Sequence[_Mention]) -> Statement:
    """Edges from the episode to facts that exist."""
    matched, created, made_current = ["(p:Episode {step: $step})"], [], []
    values: dict[str, Value] = {"step": step}
    for n, mention in enumerate(mentions):
        matched.append(f"(f{n}:Fact {{id: $id{n}}})")
        values[f"id{n}"] = mention.fact_id
        created.append(_edge(n, mention, values))
        if mention.learned:
            made_current.append(f"f{n}.current = true")
    text = f"MATCH {', '.join(matched)} CREATE {', '.join(created)}"
    return (f"{text} SET {', '.join(made_current)}" if made_current else text), values


def _edge(n: int, mention: _Mention, values: dict[str, Value]) -> str:
    """The edge to fact number `n` of a statement; its values are added to `values`."""
    properties = [f"learned: {str(mention.learned).lower()}"]
    if mention.wording is not None:
        parts = (mention.wording.subject, mention.wording.relation, mention.wording.object)
        for name, part in zip(("subject", "relation", "object"), parts, strict=True):
            properties.append(f"wording_{name}: ${name}{n}")
            values[f"{name}{n}"] = part
    return f"(p)-[:MENTIONS {{{', '.join(properties)}}}]->(f{n})"
