"""Every game as a `gymnasium.Env` with text in and text out.

Importing this module registers `arigraph/FAMILY-LEVEL-v0` for each level of each family, so that
`gymnasium.make("arigraph/hunt-standard-v0")` works; a story file, or one game with its seed, is
`TextGameEnv("games/zork1.z5")`, `TextGameEnv("hunt:hard@7")`.
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
from gymnasium.spaces import Text

from arigraph_local.envs.environment import Observation
from arigraph_local.envs.games import GameName, all_families, is_game_file, parse_game_name
from arigraph_local.envs.opening import OpenGame, open_game
from arigraph_local.errors import GameError

NAMESPACE = "arigraph"
LONGEST_OBSERVATION = 16_384
LONGEST_ACTION = 200

_LATIN = "".join(map(chr, range(0xA0, 0x100)))
_SEEN = frozenset(string.ascii_letters + string.digits + string.punctuation + " \t\n" + _LATIN)
_TYPED = frozenset(string.ascii_letters + string.digits + string.punctuation + " ")


class TextGameEnv(gymnasium.Env[str, str]):
    """A game given by `family:level`, `family:level@seed` or the path of a story file.

    An observation is the game's text, at most `LONGEST_OBSERVATION` characters of ASCII and
    Latin-1, with `?` for any other; an action is a line to the game, valid or not. The reward is
    what the score rose by. `info` holds `valid_actions`, `score`, `max_score` (0: unbounded),
    `location`, `inventory`, `won` and `goal`.

    `reset(seed=…)` chooses the seed of a generated game, which is made if it is not there yet;
    `reset()` begins the same game again. A story file is the same with every seed. An episode
    terminates when the game is over; games made by their id are truncated at the step limit of
    their level.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, game: str, render_mode: str | None = None) -> None:
        """Raises `UsageError` for a name that no game has."""
        self._name: GameName | str = game if is_game_file(game) else parse_game_name(game)
        self.render_mode = render_mode
        self.observation_space = Text(LONGEST_OBSERVATION, min_length=0, charset=_SEEN)
        self.action_space = Text(LONGEST_ACTION, min_length=1, charset=_TYPED)
        self._open: OpenGame | None = None
        self._last: Observation | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode. Raises `GameError` if the game cannot be made or opened."""
        super().reset(seed=seed)
        if seed is not None and isinstance(self._name, GameName) and seed != self._name.seed:
            self.close()
            chosen = GameName(self._name.family, self._name.level, seed)
            self._name = parse_game_name(str(chosen))
        if self._open is None:
            self._open = open_game(str(self._name))
        self._last = self._open.environment.reset()
        return self._seen()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send one line to the game."""
        if self._open is None or self._last is None:
            raise GameError(f"'{self._name}' has not been reset")
        before = self._last.score
        self._last = self._open.environment.step(action)
        text, info = self._seen()
        return text, float(self._last.score - before), self._last.done, False, info

    def render(self) -> str | None:  # type: ignore[override]
        """The game's last text in the mode `ansi`, else None."""
        if self.render_mode != "ansi" or self._last is None:
            return None
        return self._last.text

    def close(self) -> None:
        """End the game. Closing twice is harmless; `reset` opens it again."""
        if self._open is not None:
            self._open.environment.close()
        self._open = self._last = None

    def _seen(self) -> tuple[str, dict[str, Any]]:
        assert self._open is not None
        assert self._last is not None
        info = {
            "valid_actions": list(self._last.valid_actions),
            "score": self._last.score,
            "max_score": self._last.max_score,
            "location": self._last.location,
            "inventory": self._last.inventory,
            "won": self._last.won,
            "goal": self._open.environment.goal,
        }
        return _within_space(self._last.text), info


def environment_id(family: str, level: str) -> str:
    """The id under which a level is registered."""
    return f"{NAMESPACE}/{family}-{level}-v0"


def register_games() -> None:
    """Register every level of every family that is not registered yet."""
    for name, family in all_families().items():
        for level, summary in family.levels().items():
            if environment_id(name, level) not in gymnasium.registry:
                gymnasium.register(
                    id=environment_id(name, level),
                    entry_point=f"{__name__}:TextGameEnv",
                    kwargs={"game": f"{name}:{level}"},
                    max_episode_steps=summary.step_limit,
                )


def _within_space(text: str) -> str:
    return "".join(c if c in _SEEN else "?" for c in text[:LONGEST_OBSERVATION])


register_games()
