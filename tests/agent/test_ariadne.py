"""What the agent is told as it plays: loops, idle sub-goals, ways that are not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import three_rooms_script as script
from golden_prompts import assert_golden
from three_rooms import ThreeRooms
from word_embedder import WordEmbedder

from arigraph_local.agent.progress import Progress
from arigraph_local.config import make_config
from arigraph_local.errors import UsageError
from arigraph_local.events import Acted, Dropped, Event, LoopNoticed, ModelCalled
from arigraph_local.llm.engine import Request
from arigraph_local.llm.scripted import ScriptedEngine
from arigraph_local.runs.event_log import read_events
from arigraph_local.runs.run_folder import RunFolder
from arigraph_local.runs.runner import Equipment, run_episode

GOLDEN = Path(__file__).parent / "golden"
# After waiting in the cellar, its south, a wall, is taken for the way to the study.
FALSE = [["study", "is south of", "cellar"]]
LOST = ("go west", "go west", "wait", "go to hall", "go to hall", "wait")


def extract(request: Request) -> str:
    """A careful reader but for one passage."""
    mistaken = FALSE if "Nothing happens" in request.messages[-1].content else []
    return json.dumps([*json.loads(script.extract(request)), *mistaken])


def gear(actions: tuple[str, ...], reader: Callable[[Request], str] = script.extract) -> Equipment:
    replies = script.REPLIES | {"act": script.Actor(actions), "extract": reader}
    engine = ScriptedEngine(replies)
    return Equipment(engine, WordEmbedder(), ThreeRooms(), "three rooms", len(actions))


def played(path: Path, equipment: Equipment, **settings: object) -> list[Event]:
    values = {f"agent.{name}": value for name, value in settings.items()}
    folder = RunFolder.create(path, make_config({"game": "three-rooms"} | values))
    run_episode(folder, equipment)
    return read_events(path)


def prompts(events: list[Event], task: str) -> list[str]:
    return [e.prompt for e in events if isinstance(e, ModelCalled) and e.task == task]


def test_a_way_that_is_not_there_is_doubted_and_the_agent_told(tmp_path: Path) -> None:
    events = played(tmp_path / "run", gear(LOST, extract))
    first, second = [e for e in events if isinstance(e, Acted) and e.action == "go to hall"]
    assert (first.commands, first.doubted) == (("go south",), ("cellar", "south", "study"))
    assert (second.commands, second.doubted) == (("go east", "go east"), None)
    after = prompts(events, "plan")[4]
    assert "Note: go to hall ended in cellar: the way is not as remembered." in after


def test_a_resumed_run_still_doubts_what_it_doubted(tmp_path: Path) -> None:
    class DieError(Exception):
        pass

    def die(event: Event) -> None:
        if isinstance(event, Acted) and event.doubted is not None:
            raise DieError

    whole = played(tmp_path / "whole", gear(LOST, extract))
    folder = RunFolder.create(tmp_path / "killed", make_config({"game": "three-rooms"}))
    with pytest.raises(DieError):
        run_episode(folder, gear(LOST, extract), [die])
    run_episode(folder, gear(LOST, extract))
    assert prompts(read_events(folder.path), "act") == prompts(whole, "act")


def test_a_sub_goal_without_progress_is_flagged_until_there_is_some(tmp_path: Path) -> None:
    idle = ("wait", "wait", "wait", "go west", "take key")
    flagged = [
        "no progress for" in prompt
        for prompt in prompts(played(tmp_path / "run", gear(idle), stale_after=2), "plan")
    ]
    assert flagged == [False, False, True, True, False]


def test_holding_again_what_was_held_before_is_no_progress() -> None:
    game = ThreeRooms()
    free = game.reset()
    held = replace(free, inventory="You carry a key.")
    progress = Progress()
    for step, (before, after) in enumerate([(free, held), (held, free), (free, held)], start=1):
        progress.note(step, before, after)
    assert progress.step == 1
    progress.note(4, held, replace(held, score=1))
    assert progress.step == 4
    progress.note(5, held, replace(held, location="attic"))
    assert progress.step == 5


@pytest.mark.parametrize(
    ("guard", "told", "offered"),
    [("off", False, True), ("tell", True, True), ("withhold", True, False)],
)
def test_a_loop_is_counted_told_and_withheld_as_the_setting_says(
    guard: str, told: bool, offered: bool, tmp_path: Path
) -> None:
    actions = ("wait", "wait", "wait", "go west")
    events = played(tmp_path / "run", gear(actions), loop_guard=guard)
    noticed = [e for e in events if isinstance(e, LoopNoticed)]
    assert [(e.step, e.actions) for e in noticed] == ([(4, ("wait",))] if told else [])
    last = prompts(events, "act")[-1]
    assert ("nothing new came of 'wait' here" in last) == told
    assert ("\n- wait\n" in last) == offered


def test_a_budget_cuts_the_prompt_more_tightly_than_the_context(tmp_path: Path) -> None:
    free = played(tmp_path / "free", gear(script.ACTIONS))
    tight = played(tmp_path / "tight", gear(script.ACTIONS), prompt_tokens=320)
    assert not any(isinstance(event, Dropped) for event in free)
    assert any(isinstance(event, Dropped) and "history" in event.items for event in tight)
    assert max(map(len, prompts(tight, "plan"))) < max(map(len, prompts(free, "plan")))


def by_number(request: Request) -> str:
    """The scripted action, named by its number in the list that is shown."""
    reply = json.loads(script.Actor()(request))
    listed = re.findall(r"^(\d+)\. (.*)$", request.messages[-1].content, re.MULTILINE)
    (number,) = (int(number) for number, action in listed if action == reply["action"])
    return json.dumps(reply | {"action": number})


def test_an_action_chosen_by_number_is_the_one_shown_at_it(tmp_path: Path) -> None:
    tools = gear(script.ACTIONS)
    tools = replace(tools, engine=ScriptedEngine(script.REPLIES | {"act": by_number}))
    events = played(tmp_path / "run", tools, choose_by="number")
    assert tuple(e.action for e in events if isinstance(e, Acted)) == script.ACTIONS
    assert_golden(GOLDEN / "act_by_number.txt", prompts(events, "act")[2])


def test_the_vote_of_several_samples_decides_and_each_is_logged(tmp_path: Path) -> None:
    asked: list[Request] = []

    def divided(request: Request) -> str:
        asked.append(request)
        action = "wait" if len(asked) % 3 == 1 else "go west"
        return json.dumps({"rationale": "because", "action": action})

    engine = ScriptedEngine(script.REPLIES | {"act": divided})
    tools = replace(gear(("go west",)), engine=engine)
    events = played(tmp_path / "run", tools, votes=3, vote_temperature=0.5)
    assert [e.action for e in events if isinstance(e, Acted)] == ["go west"]
    assert len(prompts(events, "act")) == 3
    assert len({request.sampling.seed for request in asked}) == 3
    assert {request.sampling.temperature for request in asked} == {0.5}


def test_the_likeliest_action_is_taken_without_a_rationale(tmp_path: Path) -> None:
    def plainly(request: Request) -> str:
        action = json.loads(script.Actor()(request))["action"]
        assert request.grammar is None
        return json.dumps({"action": action})

    engine = ScriptedEngine(script.REPLIES | {"act": plainly})
    tools = replace(gear(script.ACTIONS), engine=engine)
    events = played(tmp_path / "run", tools, choose_by="likelihood")
    assert tuple(e.action for e in events if isinstance(e, Acted)) == script.ACTIONS


def test_more_than_one_vote_by_likelihood_is_refused() -> None:
    with pytest.raises(UsageError, match="votes: every vote by likelihood is the same"):
        make_config({"game": "g", "agent.votes": 3, "agent.choose_by": "likelihood"})
