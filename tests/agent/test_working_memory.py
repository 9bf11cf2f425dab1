"""Working memory is cut to the context by whole items, in a fixed order."""

from dataclasses import replace

from arigraph_local.agent.long_term_memory import Recollection, Section
from arigraph_local.agent.plan import Plan
from arigraph_local.agent.working_memory import PastStep, WorkingMemory, fit
from arigraph_local.llm.engine import Message


def working_memory() -> WorkingMemory:
    return WorkingMemory(
        step=9,
        observation="A room.",
        inventory="Nothing.",
        location="room",
        recollection=Recollection(
            (Section("Facts", ("fact 1", "fact 2")), Section("Scenes", ("scene 1", "scene 2")))
        ),
        history=tuple(PastStep(n, f"saw {n}", "wait") for n in (7, 8)),
        exits=(),
        plan=Plan(),
    )


def size(memory: WorkingMemory) -> int:
    recalled = memory.recollection
    items = sum(len(section.items) for section in recalled.sections)
    return len(memory.history) + items + len(recalled.turns)


def test_what_fits_is_left_alone() -> None:
    memory, dropped = fit(working_memory(), lambda _: True)
    assert (size(memory), dropped) == (6, {})


def test_history_goes_first_and_its_oldest_step_before_the_latest() -> None:
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 5)
    assert [past.step for past in memory.history] == [8]
    assert dropped == {"history": 1}


def test_then_the_last_section_from_its_end_then_the_one_before() -> None:
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 2)
    assert [section.items for section in memory.recollection.sections] == [("fact 1", "fact 2"), ()]
    assert dropped == {"history": 2, "scenes": 2}
    memory, dropped = fit(working_memory(), lambda memory: size(memory) <= 1)
    assert memory.recollection.sections[0].items == ("fact 1",)


def test_recalled_turns_go_before_all_else_in_pairs_from_the_oldest() -> None:
    turns = tuple(
        turn
        for number in (1, 2)
        for turn in (Message("user", f"user {number}"), Message("assistant", f"assistant {number}"))
    )
    whole = working_memory()
    recalled = replace(whole.recollection, turns=turns)
    memory, dropped = fit(replace(whole, recollection=recalled), lambda memory: size(memory) <= 8)
    assert [turn.content for turn in memory.recollection.turns] == ["user 2", "assistant 2"]
    assert dropped == {"turns": 1}


def test_nothing_left_to_drop_ends_the_search() -> None:
    memory, dropped = fit(working_memory(), lambda _: False)
    assert size(memory) == 0
    assert sum(dropped.values()) == 6
