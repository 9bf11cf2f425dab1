"""NetHack as an `Environment`: one skill a step, everything in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from arigraph_local.envs.environment import GAME_OVER, Observation, TrueFact
from arigraph_local.envs.nethack.console import Console
from arigraph_local.envs.nethack.describing import describe
from arigraph_local.envs.nethack.facts import facts_of
from arigraph_local.envs.nethack.offering import offered_skills
from arigraph_local.envs.nethack.play import InterruptedSkillError, Play
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.wording import sentence
from arigraph_local.errors import GameError

NOT_A_SKILL = "That is not one of the things you can do here."

_SYNONYMS = {"descend": "go down", "ascend": "go up"}


class NetHackEnvironment:
    """A game of NetHack with fixed seeds, so that the same commands have the same results.

    Only the texts of `valid_actions` are commands; anything else is answered with `NOT_A_SKILL`
    and does not reach the game. `whole_level` tells of all that was seen on the level, not only
    of the place the player is in. `skill_steps` bounds the game commands of one skill.

    Of several of these in one process each disturbs the others: use a process for each. Raises
    `GameError` if the `nle` package is not installed.
    """

    def __init__(
        self, *, seed: int, character: str, goal: str, whole_level: bool, skill_steps: int
    ) -> None:
        self._seed = seed
        self._character = character
        self._goal = goal
        self._whole_level = whole_level
        self._skill_steps = skill_steps
        self._play: Play | None = None
        self._skills: dict[str, Skill] = {}
        self._last: Observation | None = None
        self._closed = False

    @property
    def goal(self) -> str:
        """What the player is asked to achieve."""
        return self._goal

    def reset(self) -> Observation:
        """Start the game of the seed over."""
        if self._closed:
            raise GameError("NetHack has been closed")
        if self._play is not None:
            self._play.close()
        self._play = Play(Console(self._character, self._seed), self._skill_steps)
        self._last = None
        return self._observe("")

    def step(self, command: str) -> Observation:
        """Use the skill of that text; see the class for anything else."""
        play, last = self._play, self._last
        if play is None or last is None:
            raise GameError("NetHack has not been reset")
        if last.done:
            return replace(last, text=GAME_OVER)
        text = " ".join(command.split())
        skill = self._skills.get(text) or self._skills.get(_SYNONYMS.get(text.lower(), ""))
        if skill is None:
            return replace(last, text=NOT_A_SKILL)
        play.begin()
        try:
            outcome = skill.run(play)
        except InterruptedSkillError as interruption:
            outcome = str(interruption)
        return self._observe(sentence(outcome))

    def true_facts(self) -> frozenset[TrueFact]:
        """What is true of the player and of the place around; nothing that is still hidden."""
        if self._play is None:
            raise GameError("NetHack has not been reset")
        return facts_of(self._play)

    def close(self) -> None:
        """Free the game. Closing twice is harmless."""
        self._closed = True
        if self._play is not None:
            self._play.close()
            self._play = None

    def _observe(self, outcome: str) -> Observation:
        play = self._play
        assert play is not None
        play.look_down()
        lines = [outcome, _quoted(play.heard)]
        if not play.over:
            lines.append(
                describe(play.level, play.sight, play.lying_here, whole_level=self._whole_level)
            )
        self._skills = offered_skills(play, whole_level=self._whole_level)
        self._last = Observation(
            text="\n".join(line for line in lines if line),
            inventory=_inventory(play),
            location=play.level.location(play.sight),
            valid_actions=tuple(self._skills),
            score=play.sight.vitals.score,
            max_score=0,
            done=play.over,
            won=play.won,
        )
        return self._last


def _quoted(heard: Sequence[str]) -> str:
    """The game's messages in its own words; one that comes several times in a row, once."""
    told = []
    for message, again in groupby(heard):
        times = len(list(again))
        told.append(f'"{message}"' + (f" ({times} times)" if times > 1 else ""))
    return f"The game says: {' '.join(told)}" if told else ""


def _inventory(play: Play) -> str:
    if not play.sight.inventory:
        return "You are carrying nothing."
    carried = "\n".join(f"{item.letter} - {item.name}" for item in play.sight.inventory)
    return f"You are carrying:\n{carried}"
