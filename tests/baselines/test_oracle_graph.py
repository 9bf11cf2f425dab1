"""The true facts that were seen, and the noise that spoils them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from three_rooms import ThreeRooms
from three_rooms_runs import folder_of, gear

from arigraph_local.agent.long_term_memory import Experience
from arigraph_local.baselines.oracle_graph import GraphNoise
from arigraph_local.baselines.seen_facts import SeenFacts
from arigraph_local.config import make_config
from arigraph_local.envs.environment import TrueFact
from arigraph_local.errors import UsageError
from arigraph_local.events import MemoryUpdated, ModelCalled
from arigraph_local.memory.triplet import Triplet
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.runner import run_episode


def updates(path: Path, **settings: object) -> list[MemoryUpdated]:
    folder = folder_of(path, "oracle-graph", **settings)
    run_episode(folder, gear())
    events = read_events(folder.path)
    assert not [event for event in events if isinstance(event, ModelCalled)
                and event.task in ("extract", "outdated")]  # fmt: skip
    return [event for event in events if isinstance(event, MemoryUpdated)]


def test_only_what_is_in_sight_is_learned_and_no_more_than_is_true(tmp_path: Path) -> None:
    first, second, *_ = updates(tmp_path / "run")
    assert set(first.learned) == {
        ("hall", "has exit", "west"),
        ("locker", "is in", "hall"),
        ("locker", "is", "closed"),
    }
    assert ("key", "is on", "desk") in second.learned
    assert ("study", "is west of", "hall") in second.learned


def test_what_is_not_true_any_more_is_retired(tmp_path: Path) -> None:
    retired = {
        item.triplet: item.replacement
        for event in updates(tmp_path / "run")
        for item in event.retired
    }
    assert retired == {("key", "is on", "desk"): ("key", "is in", "inventory")}


def test_the_meal_is_known_from_the_recipe_and_what_went_into_it_is_gone() -> None:
    kitchen = frozenset(
        {
            TrueFact("at", ("p", "kitchen")),
            TrueFact("in", ("carrot", "i")),
            TrueFact("uncut", ("carrot",)),
            TrueFact("base", ("carrot", "ingredient_0")),
            TrueFact("diced", ("ingredient_0",)),
            TrueFact("in", ("ingredient_0", "recipe")),
        }
    )
    seen = SeenFacts()
    first = seen.look(kitchen, Experience(1, "Welcome to the kitchen."))
    assert Triplet("carrot", "must be", "diced") not in first.triplets
    read = seen.look(kitchen, Experience(2, "Ingredients: carrot. Directions: dice the carrot."))
    assert {Triplet("carrot", "must be", "diced"), Triplet("recipe", "needs", "carrot")} <= set(
        read.triplets
    )
    eaten = frozenset({TrueFact("at", ("p", "kitchen"))})
    assert seen.look(eaten, Experience(3, "Yum.")).gone == ("carrot",)
    assert seen.look(eaten, Experience(4, "Yum.")).gone == ()


def test_a_key_is_known_to_open_a_locker_once_a_text_names_both() -> None:
    facts = frozenset(
        {
            TrueFact("at", ("p", "hall")),
            TrueFact("at", ("note", "hall")),
            TrueFact("at", ("key 1", "hall")),
            TrueFact("at", ("red locker", "cellar")),
            TrueFact("match", ("key 1", "red locker")),
        }
    )
    opens, where = Triplet("key 1", "opens", "red locker"), Triplet("red locker", "is in", "cellar")
    seen = SeenFacts()
    assert opens not in seen.look(facts, Experience(1, "A key 1 and a note.")).triplets
    told = seen.look(facts, Experience(2, "This note says: key 1 opens the red locker.")).triplets
    assert opens in told
    assert where not in told


def test_a_game_that_does_not_tell_its_state_is_refused() -> None:
    with pytest.raises(UsageError, match=r"memory\.name oracle-graph: this game does not tell"):
        SeenFacts().look(frozenset({TrueFact("at", ("player", "Dlvl 1"))}), Experience(1, "Hi"))


NAMES = st.text("abc", min_size=1, max_size=3)
TRIPLETS = st.builds(Triplet, NAMES, st.just("is in"), NAMES)
ROOMS = ("attic", "cellar", "hall")


@given(TRIPLETS, st.floats(0, 1), st.integers(0, 9))
def test_noise_keeps_a_fact_drops_it_or_gives_it_another_known_object(
    fact: Triplet, share: float, seed: int
) -> None:
    spoilt = GraphNoise(share, seed)(fact, ROOMS)
    assert spoilt == GraphNoise(share, seed)(fact, ROOMS)
    if spoilt is not None and spoilt != fact:
        assert (spoilt.subject, spoilt.relation) == (fact.subject, fact.relation)
        assert spoilt.object in ROOMS
    assert share > 0 or spoilt == fact


def test_noise_spoils_the_share_that_is_asked_for_half_of_it_by_dropping() -> None:
    facts = [Triplet(f"thing {n}", "is in", "hall") for n in range(2000)]
    spoilt = [GraphNoise(0.4, 1)(fact, ROOMS) for fact in facts]
    assert 0.17 < spoilt.count(None) / 2000 < 0.23
    wrong = [one for one in spoilt if one is not None and one.object != "hall"]
    assert 0.17 < len(wrong) / 2000 < 0.23


def test_a_noisy_graph_holds_other_facts_and_still_plays(tmp_path: Path) -> None:
    true, noisy = updates(tmp_path / "true"), updates(tmp_path / "noisy", graph_noise=1.0)
    told = {fact for event in noisy for fact in event.learned}
    assert ("hall", "has exit", "west") in true[0].learned
    assert ("hall", "has exit", "west") not in told
    assert 0 < len(told) < len({fact for event in true for fact in event.learned})


@pytest.mark.parametrize(
    ("setting", "value", "whose"),
    [("graph_noise", 0.5, "oracle-graph"), ("lessons", ["x"], "reflexion")],
)
def test_a_setting_of_another_memory_is_refused(setting: str, value: object, whose: str) -> None:
    with pytest.raises(UsageError, match=rf"'memory\.{setting}': only the memory {whose} has it"):
        make_config({"game": "x", "memory.name": "rag", f"memory.{setting}": value})


def test_three_rooms_tell_where_the_key_is() -> None:
    game = ThreeRooms()
    game.reset()
    assert TrueFact("on", ("key", "desk")) in game.true_facts()
