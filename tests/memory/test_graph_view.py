"""What a reader asks of a graph: facts, differences, provenance, histories, networkx."""

from __future__ import annotations

import pytest
from graphs import HELD, IN_BOX, travelling_key, triplet, write
from hypothesis import given
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.errors import ArigraphError
from arigraph_local.memory.graph.store import Fact, Interval
from arigraph_local.memory.reading.graph_view import GraphView

ON_TABLE = "lamp, is on, table"


@pytest.fixture
def view() -> GraphView:
    return GraphView(travelling_key())


def texts(facts: object) -> set[str]:
    assert isinstance(facts, list | tuple)
    return {str(fact.triplet) for fact in facts}


def test_facts_are_those_true_now_or_at_a_step_of_all_or_of_one_entity(view: GraphView) -> None:
    assert texts(view.facts()) == {HELD, ON_TABLE}
    assert texts(view.facts(step=1)) == {IN_BOX, ON_TABLE} == texts(view.as_of(1))
    assert texts(view.facts("The Key")) == {HELD}
    assert texts(view.facts("key", step=5)) == {IN_BOX}
    assert view.facts("nobody") == []


def test_with_the_retired_ones_every_fact_learned_by_a_step(view: GraphView) -> None:
    assert texts(view.facts(current=False)) == {IN_BOX, HELD, ON_TABLE}
    assert texts(view.facts("key", current=False)) == {IN_BOX, HELD}
    assert texts(view.facts(step=1, current=False)) == {IN_BOX, ON_TABLE}
    assert view.facts(step=0, current=False) == []


def test_the_difference_of_two_steps_is_reversed_when_they_are(view: GraphView) -> None:
    forward, back = view.diff(1, 2), view.diff(2, 1)
    assert (texts(forward.added), texts(forward.retired)) == ({HELD}, {IN_BOX})
    assert (back.added, back.retired) == (forward.retired, forward.added)


def test_what_was_retired_and_learned_again_in_between_is_no_difference(view: GraphView) -> None:
    assert view.diff(2, 7).added == view.diff(2, 7).retired == ()
    assert texts(view.diff(0, 7).added) == {HELD, ON_TABLE}


def test_provenance_gives_intervals_episodes_replacements_and_wordings(view: GraphView) -> None:
    found = view.provenance(triplet(IN_BOX))
    assert not found.current
    assert found.intervals == (Interval(1, 2, 3, "moved"), Interval(4, 7, 3, "moved"))
    assert [episode.step for episode in found.episodes] == [1, 4]
    assert [str(fact.triplet) for fact in found.replacements] == [HELD, HELD]
    assert found.wordings == {4: triplet("keys, is in, box")}


def test_a_fact_can_be_named_by_itself_its_triplet_or_its_id(view: GraphView) -> None:
    by_triplet = view.provenance(triplet(HELD))
    assert by_triplet.current
    assert view.provenance(by_triplet.fact) == by_triplet == view.provenance(by_triplet.fact.id)


@pytest.mark.parametrize("unknown", [triplet("moon, is, full"), 99, Fact(99, triplet(HELD))])
def test_a_fact_never_held_is_a_clear_error(view: GraphView, unknown: Fact) -> None:
    with pytest.raises(ArigraphError, match="fact"):
        view.provenance(unknown)


def test_the_history_of_an_entity_is_all_its_facts_in_time_order(view: GraphView) -> None:
    told = [(str(item.fact.triplet), item.interval.start) for item in view.history(" KEY ")]
    assert told == [(IN_BOX, 1), (HELD, 2), (IN_BOX, 4), (HELD, 7)]
    assert [item.interval.end for item in view.history("key")] == [2, 4, 7, None]


def test_networkx_edges_are_keyed_by_fact_and_know_since_when_and_who_says_so(
    view: GraphView,
) -> None:
    graph = view.to_networkx()
    assert set(graph.nodes) == {"key", "inventory", "lamp", "table"}
    edges = {key: (s, o, data) for s, o, key, data in graph.edges(keys=True, data=True)}
    assert edges[2] == ("lamp", "table", {"relation": "is on", "since": 1, "steps": (1, 7)})
    assert edges[3] == ("key", "inventory", {"relation": "is in", "since": 7, "steps": (2, 7)})


def test_networkx_of_a_step_knows_nothing_later(view: GraphView) -> None:
    graph = view.to_networkx(step=5)
    assert set(graph.nodes) == {"key", "box", "lamp", "table"}
    assert graph.edges["key", "box", 1] == {"relation": "is in", "since": 4, "steps": (1, 4)}


def test_several_facts_between_the_same_entities_are_several_edges() -> None:
    store = ReferenceStore()
    write(store, 1, ["a, is on, b", "a, belongs to, b", "b, holds, a"])
    assert GraphView(store).to_networkx().number_of_edges("a", "b") == 2


@given(st.lists(st.sets(st.integers(0, 5), max_size=3), min_size=1, max_size=6), st.data())
def test_a_difference_turns_one_graph_into_the_other(
    steps: list[set[int]], data: st.DataObject
) -> None:
    """Each step learns some numbers; one that is held is retired by the first of the new ones."""
    store = ReferenceStore()
    for step, numbers in enumerate(steps, start=1):
        new = [f"x, is, {number}" for number in sorted(numbers)]
        held = {str(fact.triplet) for fact in store.current()} - set(new)
        gone = {min(held): new[0]} if held and new else {}
        write(store, step, new, gone)
    view = GraphView(store)
    before, after = (data.draw(st.integers(0, len(steps) + 1)) for _ in range(2))
    diff = view.diff(before, after)
    assert set(view.as_of(before)) - set(diff.retired) | set(diff.added) == set(view.as_of(after))
    assert not set(diff.added) & set(view.as_of(before))
