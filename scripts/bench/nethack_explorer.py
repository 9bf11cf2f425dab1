"""Long runs of NetHack with a player that follows simple rules: how deep it gets, and whether the
environment holds out.

    .venv/bin/python scripts/bench/nethack_explorer.py [--episodes N] [--skills N] [--first SEED]
        [--level room|level] [--json]

The player reads nothing but observations and valid actions: it fights what is near, prays or rests
when wounded, eats when hungry, takes the stairs down when it knows them, and explores otherwise.
When it dies, another game begins, until the episode's skills are used; depth and score are those of
the first game. `digest` is the SHA-256 of all observations of an episode: equal in two
runs if the game is reproducible. `grown_mib` is the most by which a game's process grew after the
first observation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from arigraph_local.envs.environment import Observation
from arigraph_local.envs.nethack.family import NetHackFamily
from arigraph_local.envs.process_environment import ProcessEnvironment

HIT_POINTS = re.compile(r"You have (\d+) of (\d+) hit points")
TURN = re.compile(r"It is turn (\d+)")
DEPTH = re.compile(r"level (\d+)")
NEAR = re.compile(r"A hostile (.+?) is (\d+) squares?")
TURNS_BETWEEN_PRAYERS = 1000
FIRST_PRAYER = 200
RESTS = 12
WRITINGS = 16
PATIENCE = 3
LEFT_ALONE = (
    "floating eye",
    "cockatrice",
    "jelly",
    "acid blob",
    "green mold",
    "brown mold",
    "gas spore",
)
"""Monsters that hurt only those who touch them."""

KEEPS = ("food ration", "food rations", "cram ration", "lembas wafer", "apple", "orange", "melon")
"""Food worth carrying."""

NEXT_GAME = 1000
"""The seed of the game that follows a death, after that of the one before."""


class Digest(Protocol):
    """A hash under way."""

    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True)
class Game:
    """How one game went."""

    skills: int
    deepest: int
    score: int
    turns: int
    died: bool
    grown_mib: float
    last_words: str


@dataclass(frozen=True)
class Episode:
    """How one episode ended: depth, score, turns and death are those of its first game."""

    seed: int
    skills: int
    games: int
    deepest: int
    score: int
    turns: int
    died: bool
    seconds: float
    grown_mib: float
    digest: str
    last_words: str


class Explorer:
    """The player of one episode."""

    def __init__(self) -> None:
        self._prayed_at = -TURNS_BETWEEN_PRAYERS + FIRST_PRAYER
        self._rests = 0
        self._idle = 0
        self._written = 0
        self._turn = 0

    def choose(self, seen: Observation) -> str:
        """One of the valid actions."""
        actions = seen.valid_actions
        turn, points, health = self._vitals(seen.text)
        # A skill that took no time will take none when it is tried again.
        self._idle = self._idle + 1 if turn == self._turn else 0
        self._turn = turn
        weak = "You are weak" in seen.text or "You are faint" in seen.text
        enemies = [
            name
            for name, steps in NEAR.findall(seen.text)
            if int(steps) <= 4 and f"melee {name}" in actions and not name.endswith(LEFT_ALONE)
        ]
        # Below these limits, and not above, the god takes it for an emergency.
        if (
            health < 1 / 7 or points < 6 or weak
        ) and turn - self._prayed_at >= TURNS_BETWEEN_PRAYERS:
            self._prayed_at = turn
            return "pray"
        if enemies and self._idle < PATIENCE:
            self._rests = 0
            if health < 0.35 and self._written < WRITINGS:
                self._written += 1
                return "engrave Elbereth" if self._written % 4 == 1 else "search"
            return f"melee {enemies[0]}"
        self._written = 0
        if "pay" in actions and self._idle < PATIENCE:
            return "pay"
        drop = next((action for action in actions if action.startswith("drop ")), None)
        if drop is not None:
            return drop
        food = self._food(seen, hungry=weak or "You are hungry" in seen.text)
        if food is not None and self._idle < PATIENCE:
            return food
        if health < 0.6 and "rest" in actions and self._rests < RESTS:
            self._rests += 1
            return "rest"
        return self._onwards(seen)

    def _food(self, seen: Observation, *, hungry: bool) -> str | None:
        """Eat when hungry; take along what keeps, but not from a shop."""
        actions = seen.valid_actions
        eat = [action for action in actions if action.startswith("eat ") and "corpse" not in action]
        if hungry and eat:
            return eat[0]
        if "for sale" in seen.text:
            return None
        for verb in ("pick up ", "go to "):
            for action in actions:
                if action.startswith(verb) and action.endswith(KEEPS):
                    return action
        return None

    def _onwards(self, seen: Observation) -> str:
        actions = seen.valid_actions
        if self._idle < PATIENCE:
            for action in ("go down", "travel to staircase down", "explore level"):
                if action in actions:
                    return action
        ways = [action for action in actions if action.startswith(("go ", "kick ", "open "))]
        return ways[self._idle % len(ways)] if ways else "search"

    def _vitals(self, text: str) -> tuple[int, int, float]:
        """The turn, the hit points, and these as a part of the most there can be."""
        found, turn = HIT_POINTS.search(text), TURN.search(text)
        if found is None or turn is None:
            return 0, 1, 1.0
        points, most = int(found[1]), max(1, int(found[2]))
        return int(turn[1]), points, points / most


def play(level: str, seed: int, skills: int) -> Episode:
    """One episode, each of its games in a process of its own."""
    start = time.perf_counter()
    digest = hashlib.sha256()
    first = last = play_game(level, seed, skills, digest)
    games, used, grown = 1, first.skills, first.grown_mib
    while used < skills:
        last = play_game(level, seed + games * NEXT_GAME, skills - used, digest)
        games, used, grown = games + 1, used + last.skills, max(grown, last.grown_mib)
    return Episode(
        seed=seed,
        skills=used,
        games=games,
        deepest=first.deepest,
        score=first.score,
        turns=first.turns,
        died=first.died,
        seconds=round(time.perf_counter() - start, 1),
        grown_mib=round(grown, 1),
        digest=digest.hexdigest()[:16],
        last_words=last.last_words,
    )


def play_game(level: str, seed: int, skills: int, digest: Digest) -> Game:
    """One game, until it is over or so many skills are used; every observation is digested."""
    environment = NetHackFamily().open(level, seed)
    assert isinstance(environment, ProcessEnvironment)
    explorer = Explorer()
    seen = environment.reset()
    pid = environment.process_id
    assert pid is not None
    before = memory_mib(pid)
    deepest, turns, used = 1, 0, 0
    while used < skills and not seen.done:
        digest.update(repr(seen).encode())
        depth = DEPTH.search(seen.location or "")
        deepest = max(deepest, int(depth[1]) if depth else 1)
        found = TURN.search(seen.text)
        turns = int(found[1]) if found else turns
        seen = environment.step(explorer.choose(seen))
        used += 1
    digest.update(repr(seen).encode())
    grown = memory_mib(pid) - before
    environment.close()
    words = " ".join(seen.text.split())[:160]
    return Game(used, deepest, seen.score, turns, seen.done, grown, words)


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--skills", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="seed of the first episode")
    parser.add_argument("--level", default="room")
    parser.add_argument("--json", action="store_true", help="one object as the last line")
    options = parser.parse_args()
    episodes = []
    for seed in range(options.first, options.first + options.episodes):
        episode = play(options.level, seed, options.skills)
        episodes.append(episode)
        print(
            f"seed {seed}: {episode.skills} skills in {episode.games} games, level "
            f"{episode.deepest}, score {episode.score}, turn {episode.turns}, "
            f"{'died' if episode.died else 'alive'}, "
            f"{episode.seconds} s, +{episode.grown_mib} MiB, {episode.digest}",
            flush=True,
        )
        print(f"    {episode.last_words}", flush=True)
    mean = statistics.mean(episode.deepest for episode in episodes)
    print(f"mean deepest level {mean:.2f} over {len(episodes)} episodes")
    if options.json:
        figures = {
            "mean_deepest": mean,
            "mean_score": statistics.mean(episode.score for episode in episodes),
            "died": sum(episode.died for episode in episodes),
            "episodes": [asdict(episode) for episode in episodes],
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
