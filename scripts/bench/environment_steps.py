"""What a game in a process of its own costs, and whether long play leaves anything behind.

    .venv/bin/python scripts/bench/environment_steps.py [--game GAME] [--steps N] [--json]

Plays valid actions by chance at full speed, starting over every 150 steps. Memory is compared
from after the first tenth of the steps, when caches are filled, to the end. The cost of a step is
that of the same commands in this process and in the child, in turns. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.envs.environment import Environment
from arigraph_local.envs.opening import open_game, play_story
from arigraph_local.envs.process_environment import ProcessEnvironment

STEPS_A_GAME = 150
PAIRS = 5
STEPS_A_PAIR = 100


@dataclass(frozen=True)
class Held:
    """What the processes hold at a moment: memory in MB, counts of children and descriptors."""

    parent_mb: float
    child_mb: float
    processes: int
    descriptors: int


def held(child: int) -> Held:
    """As the kernel tells it."""
    this = Path("/proc/self")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return Held(
        parent_mb=resident_mb(os.getpid()),
        child_mb=resident_mb(child),
        processes=len(children),
        descriptors=len(list((this / "fd").iterdir())),
    )


def resident_mb(process: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def own_mb(process: int) -> float:
    """Memory of a process that it shares with no other: what one more of its kind costs."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1e3


def walk(environment: Environment, steps: int, chance: random.Random) -> None:
    """Valid actions by chance, over as many games as it takes."""
    observation = environment.reset()
    for step in range(1, steps + 1):
        if step % STEPS_A_GAME == 0 or observation.done:
            observation = environment.reset()
        observation = environment.step(chance.choice(observation.valid_actions or ("look",)))


def step_ms(environment: Environment, chance: random.Random) -> float:
    """Of one step, over some steps of a walk."""
    start = time.perf_counter()
    walk(environment, STEPS_A_PAIR, chance)
    return (time.perf_counter() - start) * 1e3 / STEPS_A_PAIR


def in_child_and_here(child: Environment, here: Environment) -> tuple[float, float]:
    """Medians of the time a step takes in the child and in this process, by the same walks."""
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(PAIRS + 1):
        for place, environment in zip(times, (child, here), strict=True):
            place.append(step_ms(environment, random.Random(pair)))
    return statistics.median(times[0][1:]), statistics.median(times[1][1:])


def same_here(game: str, story: Path | None, family: str | None) -> Environment | None:
    """The same game in this process, if it is a file."""
    if story is None:
        return None
    if story.suffix == ".z8" and story.with_suffix(".json").is_file():
        return play_story(str(story), None, family)
    from arigraph_local.envs.jericho_env import JerichoEnvironment

    return JerichoEnvironment(story)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="hunt:standard@1", help="a name or a story file")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    open_game(options.game).environment.close()  # made, if it was not yet
    start = time.perf_counter()
    game = open_game(options.game, print)
    environment = game.environment
    environment.reset()
    figures: dict[str, float] = {"start_s": time.perf_counter() - start}
    assert isinstance(environment, ProcessEnvironment)
    assert environment.process_id is not None
    chance = random.Random(1)
    start = time.perf_counter()
    walk(environment, options.steps // 10, chance)
    before = held(environment.process_id)
    walk(environment, options.steps - options.steps // 10, chance)
    figures["steps_per_second"] = options.steps / (time.perf_counter() - start)
    after = held(environment.process_id)
    figures["own_mb"] = own_mb(environment.process_id)
    figures["restarts"] = environment.restarts
    here = same_here(options.game, game.story, game.family)
    if here is not None:
        figures["step_ms"], figures["step_ms_here"] = in_child_and_here(environment, here)
        here.close()
    environment.close()
    for when, one in (("before", before), ("after", after)):
        print(
            f"{when:>6}: parent {one.parent_mb:.1f} MB, child {one.child_mb:.1f} MB, "
            f"{one.processes} processes, {one.descriptors} descriptors"
        )
    print(", ".join(f"{name} {value:.2f}" for name, value in figures.items()))
    if options.json:
        moments = {"before": before.__dict__, "after": after.__dict__}
        print(json.dumps({"game": options.game, "steps": options.steps, **figures, **moments}))


if __name__ == "__main__":
    main()
