"""The commands that are usual in Z-machine games, and those that are none to the world."""

from __future__ import annotations


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(command.split()) for command in text.split(","))


DIRECTIONS = _listed(
    "north, south, east, west, northeast, northwest, southeast, southwest, up, down, in, out,"
    "fore, aft, port, starboard"
)
NULL_COMMANDS = ("wait", "look", "inventory")
"""They change nothing but what changes anyway."""

ALONE = _listed("exit, stand up, jump, dig, swim, pray, shout, wake up, yell")
WITH_ONE = _listed(
    "take, drop, open, close, eat, drink, wear, take off, turn on, turn off, light, push, pull,"
    "enter, climb"
)
WITH_CARRIED = _listed(
    "unlock {other} with {carried}, put {carried} in {other}, put {carried} on {other},"
    "give {carried} to {other}, lock {other} with {carried}, throw {carried} at {other},"
    "attack {other} with {carried}, tie {carried} to {other}, cut {other} with {carried},"
    "dig {other} with {carried}, open {other} with {carried}"
)
WITH_ONE_SELDOM = _listed(
    "turn, move, attack, burn, cut, break, dig, fill, empty, pour, ring, rub, shake, wave, untie,"
    "lift, lower, raise, touch, blow, wind, knock on, sit on, stand on, lie on, get out of,"
    "look under, buy, kiss, wake"
)
TELLING = _listed("read, search, talk to")
"""They change nothing but what the player knows."""

FOR_THE_INTERPRETER = frozenset(
    _listed(
        "save, restore, restart, quit, q, undo, script, unscript, noscript, transcript, recording,"
        "replay, verify, version, notify, verbose, superbrief, brief, test, purloin,"
        "abstract, showme, showverb, showheap, showobj, scope, goto, gonear, print_state,"
        "restrict, tw-print, tw-trace, tw-extra"
    )
)
"""First words that mean the program, its settings or its tests, not the world: they change
nothing there, or reveal what a player cannot know, or would stop the game."""

ALONE_FOR_THE_INTERPRETER = frozenset(
    _listed("help, hint, hints, info, about, credits, license, menu, normal, short, long")
)
"""Words that mean the program when nothing follows: menus, which take keys for commands, too."""

_OTHER_WORDS = _listed(
    "get, carry, hold, pick, discard, throw, shut, fasten, inv, don, doff, shed, switch, kill,"
    "fight, hit, punch, murder, smash, wreck, crack, torture, press, shift, clear, drag, thump,"
    "polish, scrub, shine, dust, wipe, sweep, clean, feel, fondle, embrace, hug, ascend, scale,"
    "walk, run, leave, cross, rotate, twist, unscrew, screw, insert, hide, display, present, show,"
    "offer, feed, pay, swallow, sip, taste, chop, slice, prune, attach, fix, check, watch,"
    "describe, nap, sleep, awake, awaken, purchase, hop, hear, listen, sniff, smell, think, sorry,"
    "squash, squeeze, swing, consult, ask, tell, answer, say, speak, examine, score, fullscore,"
    "full, again, oops, yes, no, nouns, pronouns, places, objects"
)

USUAL_BEGINNINGS = FOR_THE_INTERPRETER.union(
    ALONE_FOR_THE_INTERPRETER,
    DIRECTIONS,
    NULL_COMMANDS,
    _OTHER_WORDS,
    (
        command.split()[0]
        for command in (*ALONE, *WITH_ONE, *WITH_CARRIED, *WITH_ONE_SELDOM, *TELLING)
    ),
)
"""First words of commands that are tried already, in these words or others, or need not be."""
