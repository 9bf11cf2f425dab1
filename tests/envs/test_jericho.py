from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_stories import (
    CELLAR_WALKTHROUGH,
    HALL_WALKTHROUGH,
    compile_cellar,
    compile_hall,
)

from arigraph_local.envs import jericho_env
from arigraph_local.envs.environment import GAME_OVER, Environment, Observation, TrueFact
from arigraph_local.envs.games import GameFiles
from arigraph_local.envs.jericho_env import JerichoEnvironment
from arigraph_local.envs.jericho_text import (
    CommandGuard,
    clean_answer,
    clean_opening,
    cut_word,
    ending,
    is_victory,
    read_score,
    refused,
)
from arigraph_local.envs.opening import open_game
from arigraph_local.envs.process_environment import ProcessEnvironment
from arigraph_local.envs.textworld_env import (
    NOT_UNDERSTOOD,
    SEED,
    TextWorldEnvironment,
)
from arigraph_local.errors import GameError

STORIES = os.environ.get("ARIGRAPH_STORIES")


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stories")


@pytest.fixture(scope="module")
def cellar_story(stories: Path) -> Path:
    return compile_cellar(stories / "cellar.z8")


@pytest.fixture(scope="module")
def opened_cellar(cellar_story: Path) -> Iterator[JerichoEnvironment]:
    game = JerichoEnvironment(cellar_story)
    yield game
    game.close()


@pytest.fixture
def cellar(opened_cellar: JerichoEnvironment) -> JerichoEnvironment:
    opened_cellar.reset()
    return opened_cellar


@pytest.fixture(scope="module")
def quick_cellar(cellar_story: Path) -> Iterator[JerichoEnvironment]:
    """Without a list of actions worth the name."""
    game = JerichoEnvironment(cellar_story, tries=0)
    yield game
    game.close()


@pytest.fixture(scope="module")
def hunt_story(easy: GameFiles, stories: Path) -> Path:
    """A TextWorld game whose description is not there."""
    return Path(shutil.copy(easy.story, stories / "hunt.z8"))


def hall(folder: Path, version: int = 5, hero: str = "yourself") -> JerichoEnvironment:
    return JerichoEnvironment(compile_hall(folder / f"hall.z{version}", version, hero))


def play(game: Environment, commands: tuple[str, ...]) -> Observation:
    observation = game.reset()
    for command in commands:
        observation = game.step(command)
    return observation


def test_text_is_cleaned_of_prompts_and_status_lines() -> None:
    status = " " * 100 + "Cellar0/2"
    assert clean_answer(f"\nTaken.\n\n>{status}") == "Taken."
    assert clean_answer(f"> Dusty Hall{status}\nTaken.\n\n") == "Taken."
    assert clean_answer(">\nTaken.") == "Taken."
    assert clean_answer("\n>") == ""
    assert clean_answer("Two\n\n\n\n  lines > 1") == "Two\n\nlines > 1"


def test_pictures_made_of_signs_are_left_out_of_the_opening() -> None:
    raw = "\n  $$$ __/ \\$$\n  |_ | \\ $$$ | $\nWelcome!\n\n*** Chapter 1 ***\nA room.\n>"
    assert clean_opening(raw) == "Welcome!\n\n*** Chapter 1 ***\nA room."


@pytest.mark.parametrize(
    ("raw", "how"),
    [
        ("\n    *** You have won ***\n\nWould you like to RESTART or QUIT?\n> ", "You have won"),
        ("Oh.\n\n    *** You have died ***\nstray text", "You have died"),
        ("A wall.\n*** The End ***\n", "The End"),
        ("Would you like to restart, restore a saved game or quit?\n>", ""),
        ("****  You have died  ****\n\nYou deserve another chance.\n>", None),
        ("*** Chapter 1 ***\nA room.\n>", None),
        ("You could restart the engine.\n>", None),
    ],
)
def test_endings_are_told_from_what_looks_like_one(raw: str, how: str | None) -> None:
    assert ending(raw) == how


@pytest.mark.parametrize("how", ["You have won", "The End", "VICTORY"])
def test_a_good_ending(how: str) -> None:
    assert is_victory(how)


@pytest.mark.parametrize("how", ["You have died", "You lost!", ""])
def test_a_bad_ending(how: str) -> None:
    assert not is_victory(how)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("You have so far scored 1 out of a possible 7, in 4 turns.", (1, 7)),
        ("In that game you scored -5 out of a possible 350, in 1 turn.", (-5, 350)),
        ("Your score is 10 (total of 350 points), in 5 moves.", (10, 350)),
        ("Your score would be 0 (total of 585 points), in 1 move.\nThis is a rank.", (0, 585)),
        ("You have scored 12 points.", (12, None)),
        ("There is no score in this story.", None),
        ("That's not a verb I recognise.", None),
    ],
)
def test_scores_are_read_from_what_the_game_says(
    answer: str, score: tuple[int, int | None] | None
) -> None:
    assert read_score(answer) == score


@pytest.mark.parametrize(
    "answer",
    [
        "That's not a verb I recognise.",
        "You can't see any such thing.",
        'I don\'t know the word "xyzzy".',
        "You can't see any lamp here!",
        "Which do you mean, the key 1 or the key 2?",
        "What do you want to unlock the chest with?",
        "I beg your pardon?",
        "",
    ],
)
def test_refusals_are_known(answer: str) -> None:
    assert refused(answer)
    assert not refused("You can see a lamp here.")


def test_words_are_cut_as_the_dictionary_cuts_them() -> None:
    assert cut_word("unlocking", 6) == "unlock"
    assert cut_word("tw-extra-infos", 9) == "tw-extra"
    assert cut_word("print_state", 9) == "print_st"


GUARD = CommandGuard(frozenset({"take", "drop", "north", "n", "s", "go", "light"}), 6)


@pytest.mark.parametrize(
    "command",
    [
        "take lamp",
        "take lamp and key",
        "troll, take axe",
        'say "hello"',
        "n",
        "xyzzy",
        "again",
        "help troll",
    ],
)
def test_one_command_is_let_through(command: str) -> None:
    assert GUARD.allows(command)


@pytest.mark.parametrize(
    "command",
    [
        *("", "take lamp\ndrop lamp", "take lamp. drop lamp", "take lamp then drop lamp", "n, s"),
        *("take lamp and go north", "take lamp; s", "take\x00", "take clé", "\\x", "x" * 10_000),
        *("save", "SAVE", "restore", "restored", "restart", "quit", "q", "undo", "script", "save!"),
        *("help", "$ve", "menu"),
        *("enable print state option", "tw-print 1", "transcript", "purloin lamp"),
    ],
)
def test_what_is_no_single_command_to_the_world_is_held_back(command: str) -> None:
    assert not GUARD.allows(command)


@given(st.text(max_size=40))
def test_whatever_is_let_through_is_one_short_line(command: str) -> None:
    if GUARD.allows(command):
        assert command.isascii()
        assert command.isprintable()
        assert command.strip()
        assert not set(".;") & set(command)


@pytest.mark.parametrize("version", [3, 4, 5, 6, 7, 8])
def test_every_version_is_played(tmp_path: Path, version: int) -> None:
    game = hall(tmp_path, version)
    first = game.reset()
    assert first.text.startswith("Dusty Hall\nYou are here.")
    assert (first.location, first.inventory) == ("dusty hall", "You are carrying nothing.")
    assert (first.score, first.max_score) == (0, 2)
    assert first.valid_actions == (
        *("examine brass lamp", "inventory", "jump", "look", "north", "take brass lamp", "wait"),
    )
    seen = first
    for command in HALL_WALKTHROUGH:
        assert command in seen.valid_actions
        seen = game.step(command)
    assert (seen.done, seen.won, seen.valid_actions, seen.location) == (True, True, (), "cave")
    assert game.true_facts() == {
        TrueFact("in", ("p", "cave")),
        TrueFact("in", ("brass lamp", "cave")),
        TrueFact("in", ("you", "everywhere")),
    }
    after = game.step("north")
    assert (after.text, after.done) == (GAME_OVER, True)
    assert game.reset() == first
    game.close()


def test_the_score_of_the_status_line_counts_to_the_end(tmp_path: Path) -> None:
    game = hall(tmp_path, 3)
    assert play(game, HALL_WALKTHROUGH).score == 2
    game.close()


@pytest.mark.parametrize("version", [3, 5])
def test_a_player_of_another_name_is_found_by_walking(tmp_path: Path, version: int) -> None:
    game = hall(tmp_path, version, hero="Aunt Agatha")
    game.reset()
    assert game.step("north").location == "cave"
    assert game.true_facts() >= {TrueFact("in", ("p", "cave"))}
    game.close()


def test_the_walkthrough_of_an_inform_game_is_among_its_valid_actions(
    cellar: JerichoEnvironment,
) -> None:
    seen = cellar.reset()
    assert (seen.score, seen.max_score, seen.location) == (0, 5, "cellar")
    assert "You can see a brass lamp" in seen.text
    for command in CELLAR_WALKTHROUGH:
        assert command in seen.valid_actions
        seen = cellar.step(command)
    assert (seen.score, seen.max_score, seen.done, seen.won) == (5, 5, True, True)
    assert seen.text.endswith("In that game you scored 5 out of a possible 5, in 6 turns.")


def test_valid_actions_change_something_or_tell_something(
    cellar_story: Path, quick_cellar: JerichoEnvironment
) -> None:
    game, start = JerichoEnvironment(cellar_story), ("take iron key", "take brass lamp")
    actions = play(game, start).valid_actions
    game.close()
    assert {"unlock oak chest with iron key", "turn on brass lamp", "enter hole"} <= set(actions)
    assert not {"open oak chest", "unlock oak chest with brass lamp"} & set(actions)
    for command in actions:
        play(quick_cellar, start)
        before = bytes(quick_cellar._memory.world(quick_cellar._ram()))
        after = quick_cellar.step(command)
        assert not refused(after.text), command
        telling = command.split()[0] in {"examine", "search", "look", "inventory", "wait"}
        same = bytes(quick_cellar._memory.world(quick_cellar._ram())) == before
        assert telling or after.done or not same, command


def test_fewer_tries_make_a_shorter_list(cellar_story: Path) -> None:
    lengths = []
    for tries in (0, 12, 40, 120):
        game = JerichoEnvironment(cellar_story, tries)
        lengths.append(len(game.reset().valid_actions))
        game.close()
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_trying_actions_leaves_no_trace(cellar_story: Path) -> None:
    """The same commands, with and without lists of actions, lead to the same game."""
    import jericho

    game = JerichoEnvironment(cellar_story, tries=100)
    bare = jericho.FrotzEnv(str(cellar_story), SEED)
    game.reset()
    bare.reset()
    for command in (
        "take lamp",
        "wave lamp",
        "go north",
        "enter cart",
        "wave lamp",
        "z",
        "x troll",
    ):
        assert game.step(command).text == clean_answer(bare.step(command)[0])
    assert bytes(game._ram()) == bytes(bare._get_ram())
    game.close()


def test_facts_are_what_lies_where(quick_cellar: JerichoEnvironment) -> None:
    quick_cellar.reset()
    facts = quick_cellar.true_facts()
    assert TrueFact("in", ("gold coin", "oak chest")) in facts
    assert TrueFact("in", ("club", "troll")) in facts
    assert TrueFact("in", ("p", "cellar")) in facts
    assert not any("north" in fact.arguments or "class" in fact.arguments for fact in facts)
    quick_cellar.step("take brass lamp")
    assert TrueFact("in", ("brass lamp", "p")) in quick_cellar.true_facts()


def test_a_vehicle_is_in_a_room(quick_cellar: JerichoEnvironment) -> None:
    seen = play(quick_cellar, ("go north", "enter wooden cart"))
    assert seen.location == "garden"
    assert TrueFact("in", ("p", "wooden cart")) in quick_cellar.true_facts()


def test_a_death_ends_the_game(quick_cellar: JerichoEnvironment) -> None:
    end = play(quick_cellar, ("enter hole",))
    assert (end.done, end.won, end.valid_actions) == (True, False, ())
    assert end.location == "cellar"
    assert not quick_cellar.reset().done


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(commands=st.lists(st.text(max_size=30) | st.sampled_from(["undo", "n, s", "n"]), max_size=4))
def test_what_is_held_back_changes_nothing(
    quick_cellar: JerichoEnvironment, commands: list[str]
) -> None:
    before = quick_cellar.reset()
    for command in commands:
        ram = bytes(quick_cellar._ram())
        after = quick_cellar.step(command)
        if after.text == NOT_UNDERSTOOD:
            assert bytes(quick_cellar._ram()) == ram
            assert after.valid_actions == before.valid_actions
        before = after


def test_an_unknown_word_is_answered_as_the_game_answers(
    quick_cellar: JerichoEnvironment,
) -> None:
    quick_cellar.reset()
    assert quick_cellar.step("frobnicate").text == "That's not a verb I recognise."


def test_a_textworld_game_without_its_description_is_played(
    hunt_story: Path, easy: GameFiles
) -> None:
    known = TextWorldEnvironment(easy.story)
    game = JerichoEnvironment(hunt_story, tries=0)
    here, there = game.reset(), known.reset()
    assert (here.location, here.max_score) == ("room a", easy.max_score)
    assert here.inventory == there.inventory
    for command in easy.walkthrough:
        here, there = game.step(command), known.step(command)
        assert here.text == there.text
        assert (here.score, here.location) == (there.score, there.location)
        lies = {
            TrueFact("in", (fact.arguments[0], "p"))
            if fact.arguments[1] == "i"
            else TrueFact("in", fact.arguments)
            for fact in known.true_facts()
            if fact.predicate in ("in", "at")
        }
        assert game.true_facts() == lies
    assert (here.score, here.done, here.won) == (easy.max_score, True, True)
    game.close()
    known.close()


def test_a_game_is_opened_by_path(cellar_story: Path) -> None:
    game = open_game(str(cellar_story))
    assert (game.name, game.family, game.walkthrough) == ("cellar", None, ())
    assert isinstance(game.environment, ProcessEnvironment)
    assert game.environment.reset().location == "cellar"
    game.environment.close()


def test_a_killed_game_is_restored_word_for_word(cellar_story: Path) -> None:
    """Chance included: the lamp shows a number."""
    make = partial(JerichoEnvironment, str(cellar_story), 30)
    world, undisturbed = ProcessEnvironment(make), make()
    world.reset()
    undisturbed.reset()
    commands = ("take brass lamp", "wave brass lamp", "take iron key", "wave brass lamp")
    for command in (*commands, "wave brass lamp", *CELLAR_WALKTHROUGH[1:]):
        if command == CELLAR_WALKTHROUGH[1]:
            assert world.process_id is not None
            os.kill(world.process_id, 9)
        assert world.step(command) == undisturbed.step(command)
        assert world.true_facts() == undisturbed.true_facts()
    assert world.restarts == 1
    world.close()
    undisturbed.close()


def test_an_archive_is_played(cellar_story: Path, tmp_path: Path) -> None:
    code = cellar_story.read_bytes()
    chunks = b"RIdx" + struct.pack(">I", 3) + b"abc\0" + b"ZCOD" + struct.pack(">I", len(code))
    content = b"IFRS" + chunks + code
    archive = tmp_path / "cellar.zblorb"
    archive.write_bytes(b"FORM" + struct.pack(">I", len(content)) + content)
    game = JerichoEnvironment(archive, tries=0)
    assert game.reset().location == "cellar"
    copies = list(Path(tempfile.gettempdir()).glob("arigraph-story-*"))
    game.close()
    game.close()
    assert not any(copy.exists() for copy in copies)


def test_stepping_needs_a_reset_and_an_open_game(tmp_path: Path) -> None:
    game = hall(tmp_path)
    with pytest.raises(GameError, match="has not been reset"):
        game.step("look")
    with pytest.raises(GameError, match="has not been reset"):
        game.true_facts()
    game.close()
    with pytest.raises(GameError, match="has been closed"):
        game.reset()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("truncated", "is truncated"),
        ("one bit", "is damaged: its checksum"),
        ("version 9", "is not a Z-machine story file"),
        ("no objects", "its header points outside the file"),
        ("short", "is not a Z-machine story file"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, damage: str, message: str) -> None:
    story = compile_hall(tmp_path / "hall.z5", 5)
    content = bytearray(story.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "one bit":
        content[100] ^= 1
    elif damage == "version 9":
        content[0] = 9
    elif damage == "no objects":
        content[0x0A:0x0C] = b"\xff\xff"
    else:
        content = content[:50]
    story.write_bytes(content)
    with pytest.raises(GameError, match=message) as caught:
        JerichoEnvironment(story)
    assert "\n" not in str(caught.value)


def test_a_story_that_breaks_the_interpreter_costs_no_more_than_an_error(tmp_path: Path) -> None:
    """Its header is sound and its checksum right, its code is noise."""
    story = compile_hall(tmp_path / "hall.z5", 5)
    content = bytearray(story.read_bytes())
    start = int.from_bytes(content[6:8])
    content[start:] = random.Random(1).randbytes(len(content) - start)
    length = 4 * int.from_bytes(content[0x1A:0x1C])
    content[0x1C:0x1E] = (sum(content[64:length]) & 0xFFFF).to_bytes(2)
    story.write_bytes(content)
    said: list[str] = []
    try:
        world = ProcessEnvironment(partial(JerichoEnvironment, str(story)), seconds=5)
    except GameError as error:
        said.append(str(error))
    else:
        with contextlib.suppress(GameError):
            world.reset()
            world.step("look")
        world.close()
    assert not any("\n" in message for message in said)


def test_jerichos_own_actions_are_used_where_it_can_find_them(
    cellar: JerichoEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cellar, "_known", True)
    monkeypatch.setattr(cellar._game, "_bindings", {"name": "cellar"})
    monkeypatch.setattr(jericho_env, "find_spec", lambda name: object())
    offered = ["take brass lamp", "go north"]
    monkeypatch.setattr(cellar._game, "get_valid_actions", lambda use_parallel: offered)
    assert cellar.step("wait").valid_actions == ("go north", "inventory", "look", "take brass lamp")


@pytest.mark.skipif(STORIES is None, reason="ARIGRAPH_STORIES names no folder of story files")
def test_known_games_reach_their_score_by_their_walkthrough() -> None:
    import jericho

    played = 0
    for story in sorted(Path(STORIES or "").glob("*.z[1-8]")):
        walkthrough = jericho_env.known_walkthrough(story)
        if not walkthrough:
            continue
        bare = jericho.FrotzEnv(str(story))
        bare.reset()
        for command in walkthrough:
            bare.step(command)
        game = JerichoEnvironment(story, tries=0)
        end = play(game, walkthrough)
        assert (end.score, end.won) == (bare.get_score(), bare.victory()), story.name
        assert end.max_score == bare.get_max_score() > 0
        game.close()
        played += 1
    if not played:
        pytest.skip(f"none of the story files in {STORIES} has a walkthrough in Jericho")
