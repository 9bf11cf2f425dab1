"""Working memory is cut to the context by whole items, in a fixed order."""

from arigraph_local.agent.plan import Plan
from arigraph_local.agent.working_memory import PastStep, WorkingMemory, fit
from arigraph_local.memory.graph.store import Episode, Fact
from arigraph_local.memory.search.episodic_search import FoundEpisode
from arigraph_local.memory.search.semantic_search import FoundFact
from arigraph_local.memory.triplet import Triplet


def working_memory() -> WorkingMemory:
    return WorkingMemory(
        step=9,
        observation="A room.",
        inventory="Nothing.",
        location="room",
        facts=tuple(
            FoundFact(Fact(n, Triplet(f"s{n}", "r", "o")), 1.0 - n / 10, 0, "q") for n in (1, 2)
        ),
        episodes=tuple(FoundEpisode(Episode(n, f"text {n}", frozenset()), 1.0, 1) for n in (1, 2)),
        history=tuple(PastStep(n, f"saw {n}", "wait") for n in (7, 8)),
        exits=(),
        plan=Plan(),
    )


def size(memory: WorkingMemory) -> int:
    return len(memory.history) + len(memory.episodes) + len(memory.facts)


def test_what_fits_is_left_alone() -> None:
    memory, dropped = fit(working_memory(), lambda _: True)
    assert (size(memory), dropped) == (6, {})


def test_history_goes_first_and_its_oldest_step_before_the_latest() -> None:
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 5)
    assert [past.step for past in memory.history] == [8]
    assert dropped == {"history": 1}


def test_then_the_last_episodes_then_the_last_facts() -> None:
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 2)
    assert [found.fact.id for found in memory.facts] == [1, 2]
    assert dropped == {"history": 2, "episodes": 2}
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 1)
    assert [found.fact.id for found in memory.facts] == [1]


def test_nothing_left_to_drop_ends_the_search() -> None:
    memory, dropped = fit(working_memory(), lambda _: False)
    assert size(memory) == 0
    assert sum(dropped.values()) == 6
