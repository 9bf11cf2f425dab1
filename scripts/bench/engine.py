"""The inference engine against llama-cpp-python's own chat completion, and against bare decoding.

    .venv/bin/python scripts/bench/engine.py [--models NAME …] [--quick] [--json]

The requests are those of a recorded game (`--record` plays it again). Each figure is the median
over pairs that alternate in this process:

- `sweep_ratio`: requests a second of 16 episodes played at once by the throughput engine, over
  those of `Llama.create_chat_completion` with the same grammars, asked one after another.
- `single_ratio`: the same for one episode played by the reproducible engine.
- `grammar_overhead`: extra time of a sampled token under a grammar, as a share.
- `recomputed_tokens_per_step`, `generated_tokens_per_step`: of the recorded game (30 steps that
  qwen2.5-coder-0.5b played), in the reproducible engine. Recomputed are prompt tokens that this
  conversation had computed before.
- `decode_share_1`, `_4`, `_16`: time of bare `llama_decode` over that of the engine's turns, for
  so many greedy replies under a grammar.
- `memory_ratio_16`: peak memory of a process with 16 episodes, over model file and KV cache, that
  of kept prompts included.

`--quick` shortens replies, plays no `act`, measures once, and leaves out `sweep_ratio`, which
needs minutes.
On a machine that has other work, `--threads 1 --cpu-time` gives ratios that hold better.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from baseline import ChatCompletion
from recorded_steps import Step, play_step, read_steps, record
from turn_costs import decode_share, grammar_overhead, token_counts

from arigraph_local.llm.batched.batched_engine import BatchedEngine
from arigraph_local.llm.engine import Engine, Limits, Message, Request
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.llama_engine import LlamaEngine
from arigraph_local.llm.llama.loaded_model import LoadedModel

CONTEXT = 2048
EPISODES = 16
TASKS = 4
GAME = "hunt:easy@1"
QUICK_TOKENS = 12


def main() -> None:
    """Measure, print a line a figure, and with `--json` one object at the end."""
    options = _options()
    if options.record:
        record(GAME, options.models[0], options.record)
        return
    # Both sides must be asked the same: steps of all four tasks, not one side more of the short.
    steps = [step for step in read_steps() if len(step) == TASKS]
    if options.quick:
        steps = [_capped(step[:-1], QUICK_TOKENS) for step in steps]
    if options.peak:
        _load_and_play(_path(options.models[0]), steps)
        return
    found = {name: _Figures(options, _path(name), steps).all() for name in options.models}
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.json:
        print(json.dumps(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", default=["smollm2-135m", "qwen2.5-coder-0.5b"])
    parser.add_argument("--quick", action="store_true", help="135M only, short replies")
    parser.add_argument("--json", action="store_true", help="one object as the last line")
    parser.add_argument("--record", type=int, metavar="STEPS", help="play the game again")
    parser.add_argument("--threads", type=int, help="default: the physical cores")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time, not wall-clock")
    parser.add_argument("--only", nargs="+", choices=["costs", "single", "sweep", "memory"])
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.models = options.models[:1]
    return options


def _path(name: str) -> Path:
    return locate(name, models_folder(None)).path


def _capped(step: Step, tokens: int) -> Step:
    """The step with replies of at most so many tokens."""
    return [replace(call, request=replace(call.request, limits=Limits(tokens))) for call in step]


class _Figures:
    """All figures of one model."""

    def __init__(self, options: argparse.Namespace, path: Path, steps: list[Step]) -> None:
        self._path = path
        self._steps = steps
        self._threads: int | None = options.threads
        self._clock = time.process_time if options.cpu_time else time.perf_counter
        without_sweep = ["costs", "single", "memory"]
        self._parts: list[str] = options.only or (
            without_sweep if options.quick else [*without_sweep, "sweep"]
        )
        self._pairs = 1 if options.quick else 5
        self._found: dict[str, float] = {}

    def all(self) -> dict[str, float]:
        """Figures by name, each printed as it is found."""
        if "memory" in self._parts:
            self._note("memory_ratio_16", self._memory_ratio())
        if "costs" in self._parts:
            self._note_turn_costs()
        baseline = ChatCompletion(self._path, CONTEXT, self._threads)
        if "single" in self._parts:
            with _reproducible(self._path, self._threads) as engine:
                self._note("single_ratio", self._single_ratio(engine, baseline))
        if "sweep" in self._parts:
            with _batched(self._path, self._threads) as batched:
                self._note("sweep_ratio", self._sweep_ratio(batched, baseline))
        baseline.close()
        return self._found

    def _note(self, name: str, value: float) -> None:
        self._found[name] = round(value, 3)
        print(f"{self._path.stem}: {name} {self._found[name]}", flush=True)

    def _note_turn_costs(self) -> None:
        loaded = _loaded(self._path)
        for name, value in token_counts(loaded, read_steps()).items():
            self._note(name, value)
        decoder = loaded.decoder(EPISODES, self._threads, ContextOptions(), name="sequences")
        for count in (1, 4, EPISODES):
            share = decode_share(loaded, decoder, count, self._pairs, self._clock)
            self._note(f"decode_share_{count}", share)
        overhead = grammar_overhead(loaded, decoder, self._pairs, self._clock)
        self._note("grammar_overhead", overhead)
        decoder.free()
        loaded.free()

    def _memory_ratio(self) -> float:
        """Peak memory of a process of its own, over the model file, context and kept prompts."""
        command = [sys.executable, __file__, "--peak", "--models", str(self._path)]
        child = subprocess.run(command, capture_output=True, check=True, text=True)
        peak, kept = map(int, child.stdout.split()[-2:])
        loaded = _loaded(self._path)
        need = loaded.need(EPISODES, ContextOptions()).total + kept
        loaded.free()
        return peak / need

    def _single_ratio(self, engine: Engine, baseline: ChatCompletion) -> float:
        """Both have played a step before, as in the middle of an episode."""
        for ask in (_asking(engine), baseline.ask):
            play_step(_of_episode(self._steps[-1], 99), ask)
        ratios = []
        for pair in range(self._pairs):
            step = _of_episode(self._steps[pair % len(self._steps)], pair)
            ours = self._rate(partial(play_step, step, _asking(engine)))
            ratios.append(ours / self._rate(partial(play_step, step, baseline.ask)))
            print(f"  pair {len(ratios)}: {ratios[-1]:.2f}", file=sys.stderr, flush=True)
        return statistics.median(ratios)

    def _sweep_ratio(self, engine: Engine, baseline: ChatCompletion) -> float:
        """The other side plays one episode after the other: four requests tell its rate, as each
        takes as long whatever is asked beside it.
        """
        for ask in (_asking(engine), baseline.ask):
            play_step(_of_episode(self._steps[0], 99), ask)
        ratios = []
        for turn in range(1, self._pairs + 1):
            ours = self._rate(partial(_play_together, engine, self._steps, turn))
            step = _of_episode(self._steps[turn % len(self._steps)], 1000 + turn)
            ratios.append(ours / self._rate(partial(play_step, step, baseline.ask)))
            print(f"  pair {len(ratios)}: {ratios[-1]:.2f}", file=sys.stderr, flush=True)
        return statistics.median(ratios)

    def _rate(self, play: Callable[[], int]) -> float:
        """Requests a second."""
        started = self._clock()
        return play() / (self._clock() - started)


def _loaded(path: Path) -> LoadedModel:
    return LoadedModel.load(
        path, model_id=path.stem, context_tokens=CONTEXT, chat_format=None, chunk_tokens=512
    )


def _batched(path: Path, threads: int | None) -> BatchedEngine:
    return BatchedEngine.load(
        path, model_id=path.stem, context_tokens=CONTEXT, sequences=EPISODES, threads=threads
    )


def _reproducible(path: Path, threads: int | None) -> LlamaEngine:
    return LlamaEngine.load(
        path, model_id=path.stem, context_tokens=CONTEXT, conversations=2, threads=threads
    )


def _asking(engine: Engine) -> Callable[[Request], Message]:
    return lambda request: engine.generate([request])[0].as_message()


def _play_together(engine: Engine, steps: Sequence[Step], turn: int) -> int:
    """One step of every episode at once, each episode at its own step of the recording."""

    def play(episode: int) -> int:
        step = steps[(turn + episode) % len(steps)]
        return play_step(_of_episode(step, 100 * turn + episode), _asking(engine), f"{episode}/")

    with ThreadPoolExecutor(EPISODES) as pool:
        return sum(pool.map(play, range(EPISODES)))


def _of_episode(step: Step, number: int) -> Step:
    """The step with other words in its observation, so that no two plays of it share more than
    the steps of a sweep would.
    """
    changed = []
    for call in step:
        turns = list(call.request.messages)
        # The calls of a conversation must still share it.
        index = min(call.replies, default=len(turns)) - 1
        turns[index] = replace(turns[index], content=f"Scene {number}. {turns[index].content}")
        changed.append(replace(call, request=replace(call.request, messages=tuple(turns))))
    return changed


def _load_and_play(path: Path, steps: Sequence[Step]) -> None:
    """Print the peak memory and the bytes that kept prompts may take.

    Of every step the first call is played: with all lanes taken and left again, nothing more is
    used by longer replies, as the context's memory is all there from the start.
    """
    with _batched(path, None) as engine:
        for turn in (0, 1):
            _play_together(engine, [_capped(step[:1], 2) for step in steps], turn)
        kept = engine.scheduler.lanes.store.limit
        # Whatever is not kept yet could be: count it as taken.
        spare = kept - engine.scheduler.lanes.store.bytes
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) * 1024 + spare, kept)


if __name__ == "__main__":
    main()
