from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arigraph_local.envs.checking import check_game
from arigraph_local.envs.compiling import compile_game, new_maker
from arigraph_local.envs.environment import Environment, Observation, TrueFact
from arigraph_local.envs.games import GameFiles
from arigraph_local.envs.textworld_env import TextWorldEnvironment
from arigraph_local.errors import GameError


def _check(easy: GameFiles, *commands: str, max_score: int = 6) -> None:
    walkthrough = commands or easy.walkthrough
    check_game(lambda: TextWorldEnvironment(easy.story), walkthrough, max_score, "a hunt")


def test_a_sound_game_passes(easy: GameFiles) -> None:
    _check(easy)


@pytest.mark.parametrize(
    ("commands", "max_score", "message"),
    [
        (["take key 1"], 6, "'a hunt', the end of its walkthrough: 1 of 6 points, not 6"),
        (["take key 1", "eat key 1"], 6, "step 2 of its walkthrough, 'eat key 1': .* not among"),
        ([], 7, "won with 6 of 6 points, not 7"),
    ],
)
def test_a_walkthrough_that_fails_is_found(
    easy: GameFiles, commands: list[str], max_score: int, message: str
) -> None:
    with pytest.raises(GameError, match=message) as caught:
        _check(easy, *commands, max_score=max_score)
    assert "\n" not in str(caught.value)


def _with_facts(easy: GameFiles, folder: Path, old: str, new: str) -> Callable[[], Environment]:
    """The game with another description of itself."""
    story = Path(shutil.copy(easy.story, folder / "game.z8"))
    text = easy.facts.read_text()
    assert old in text
    story.with_suffix(".json").write_text(text.replace(old, new))
    return lambda: TextWorldEnvironment(story)


def test_a_renamed_item_is_found(easy: GameFiles, tmp_path: Path) -> None:
    make = _with_facts(easy, tmp_path, '"name": "note 1"', '"name": "leaflet"')
    with pytest.raises(GameError, match="leaflet is in sight by the facts, but not in the desc"):
        check_game(make, easy.walkthrough, 6)


def test_a_missing_exit_is_found(easy: GameFiles, tmp_path: Path) -> None:
    data = json.loads(easy.facts.read_text())
    data["world"] = [fact for fact in data["world"] if fact["name"] != "free"]
    (tmp_path / "game.json").write_text(json.dumps(data))
    story = Path(shutil.copy(easy.story, tmp_path / "game.z8"))
    with pytest.raises(GameError, match=r"'go .*': the command is not among the valid actions"):
        check_game(lambda: TextWorldEnvironment(story), easy.walkthrough, 6)


@pytest.fixture(scope="module")
def chest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of one room, where nothing says whether the chest is open."""
    maker = new_maker(0)
    room = maker.new_room("cellar")
    maker.set_player(room)
    room.add(maker.new("c", name="chest", desc="A chest."))
    room.add(maker.new("o", name="spoon", desc="A spoon."))
    story = tmp_path_factory.mktemp("chest") / "chest.z8"
    compile_game(maker.build(), story)
    return story


def test_a_container_without_a_state_is_found(chest: Path) -> None:
    with pytest.raises(GameError, match="start of its walkthrough: chest can be opened, but no"):
        check_game(lambda: TextWorldEnvironment(chest), [], 0)
    with pytest.raises(GameError, match="end of its walkthrough"):
        check_game(lambda: TextWorldEnvironment(chest), [], 0, stateless=["chest"])


class _Altered:
    """A game that does not tell the truth."""

    def __init__(
        self,
        story: Path,
        seen: Callable[[Observation], Observation] = lambda observation: observation,
        facts: Callable[[frozenset[TrueFact]], frozenset[TrueFact]] = lambda facts: facts,
    ) -> None:
        self._game = TextWorldEnvironment(story)
        self._seen, self._facts = seen, facts
        self.goal = self._game.goal
        self.close = self._game.close

    def reset(self) -> Observation:
        return self._seen(self._game.reset())

    def step(self, command: str) -> Observation:
        return self._seen(self._game.step(command))

    def true_facts(self) -> frozenset[TrueFact]:
        return self._facts(self._game.true_facts())


_HELD, _ON_THE_FLOOR = TrueFact("in", ("key 1", "i")), TrueFact("at", ("key 1", "room a"))
_EMPTY = "You are carrying nothing."


def _never_taken(facts: frozenset[TrueFact]) -> frozenset[TrueFact]:
    return facts - {_HELD} | {_ON_THE_FLOOR} if _HELD in facts else facts


def _doubled(facts: frozenset[TrueFact]) -> frozenset[TrueFact]:
    return facts | {_ON_THE_FLOOR}


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (lambda one: replace(one, inventory=_EMPTY), "inventory names nothing, .* facts key 1"),
        (lambda one: replace(one, inventory="You are carrying: a key 1 and a hat."), "names key 1"),
        (lambda one: replace(one, location="room b"), "player is in room b, .* in room a"),
        (lambda one: replace(one, text=one.text.replace("locker", "box")), "but not in the desc"),
        (lambda one: replace(one, text=one.text + " A treasure!"), "treasure is described, but"),
        (lambda one: replace(one, text="You can't see any such thing."), "start of its walk"),
        (lambda one: replace(one, valid_actions=("take key 1",)), "what to go: nothing, by the"),
        (
            lambda one: replace(one, valid_actions=(*one.valid_actions, "open it")),
            "what to open: it, by the facts nothing",
        ),
    ],
)
def test_what_is_seen_must_agree_with_the_facts(
    easy: GameFiles, seen: Callable[[Observation], Observation], message: str
) -> None:
    with pytest.raises(GameError, match=message):
        check_game(lambda: _Altered(easy.story, seen), easy.walkthrough, 6)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (_never_taken, "'take key 1': the facts have not|'take key 1': by the facts key 1 is at"),
        (_doubled, "'take key 1': by the facts key 1 is (at|in)|key 1 is in two places"),
        (lambda facts: facts | {TrueFact("open", ("golden locker",))}, "is locked, open at once"),
    ],
)
def test_the_facts_must_follow_the_game(
    easy: GameFiles,
    facts: Callable[[frozenset[TrueFact]], frozenset[TrueFact]],
    message: str,
) -> None:
    with pytest.raises(GameError, match=message):
        check_game(lambda: _Altered(easy.story, facts=facts), easy.walkthrough, 6)


def test_a_refused_valid_action_is_found(easy: GameFiles) -> None:
    def seen(one: Observation) -> Observation:
        return replace(one, valid_actions=(*one.valid_actions, "take treasure"))

    with pytest.raises(GameError, match="answers a valid action with 'You can't see any such"):
        check_game(lambda: _Altered(easy.story, seen), ["take treasure"], 6)
