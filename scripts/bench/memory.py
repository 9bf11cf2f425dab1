"""Latency and size of the memory as the graph grows, without model calls.

    .venv/bin/python scripts/bench/memory.py [--quick] [--json] [--store kuzu|ladybug]

A step learns ten triplets of an observation of 1 KB, five new and five restated; every fifth
step retires a fact, more often than games do. All of `AriGraph.update` is timed but the model's
and the embedder's own work; `search` is timed with its queries already embedded (d = 2, w = 6,
k = 2). Vectors are sums of real MiniLM vectors of words, with noise.

The published method is reimplemented from its description: for every query of a search it embeds
every triplet of the graph again. Both sides embed with the real MiniLM model, and the graph and
the queries are the same.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arigraph_local.llm.engine import Completion, Message, Request, StopReason, TokenCounts
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.graph.store import StepChange, Store
from arigraph_local.memory.graph.stores import StoreKind, graph_file, open_store
from arigraph_local.memory.search.embedder import Embedder, Vectors
from arigraph_local.memory.search.embedder_loading import load_embedder
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet

FACTS_A_STEP = 10
STEPS_A_RETIREMENT = 5
TIMED_STEPS = 30
TIMED_SEARCHES = 60
RELATIONS = ("is in", "is on", "opens", "is locked by", "is east of", "leads to", "needs", "holds")


WORD = re.compile(r"\w+")
NAMES = """
red blue green golden silver old broken tiny wooden heavy dusty bright
key locker note chest apple knife lamp book chair table rope coin room
"""


class World:
    """Names as a text game has them, and triplets drawn from them."""

    def __init__(self, facts: int, seed: int = 1) -> None:
        self.random = random.Random(seed)
        names = NAMES.split()
        kinds, things = names[:12], names[12:]
        count = max(24, facts // 5)
        self.names = [f"{kinds[i % 12]} {things[(i // 12) % 13]} {i // 156}" for i in range(count)]

    def triplet(self) -> Triplet:
        """Any triplet between two of the names."""
        subject, object_ = self.random.sample(self.names, 2)
        return Triplet(subject, self.random.choice(RELATIONS), object_)

    def new_triplets(self, count: int, known: Callable[[Triplet], bool]) -> list[Triplet]:
        """Distinct triplets that are not known."""
        found: dict[Triplet, None] = {}
        while len(found) < count:
            triplet = self.triplet()
            if not known(triplet):
                found[triplet] = None
        return list(found)


class SummedEmbedder:
    """Vectors of a MiniLM-like shape without the model's time: words summed, with noise."""

    name = "summed"

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.threshold = real.threshold
        self._parts: dict[str, Vectors] = {}
        self._ready: dict[str, Vectors] = {}

    def learn(self, texts: Sequence[str]) -> None:
        """Embed the words of names and relations with the real model."""
        words = dict.fromkeys(word for text in texts for word in text.split())
        new = [word for word in words if word not in self._parts]
        if new:
            self._parts.update(zip(new, self._real.embed(new), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384), float32."""
        return np.stack(
            [self._ready[text] if text in self._ready else self._sum(text) for text in texts]
        )

    def prepare(self, texts: Sequence[str]) -> None:
        """Do the work of `embed` for these texts before the clock runs."""
        self._ready = {text: self._sum(text) for text in texts}

    def _sum(self, text: str) -> Vectors:
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384) * 0.01
        parts = [self._parts[word] for word in WORD.findall(text) if word in self._parts]
        total = np.sum(parts, axis=0) + noise if parts else noise
        return (total / np.linalg.norm(total)).astype(np.float32)


class InstantEngine:
    """Replies that are there already: what is left is the memory's own time."""

    model_id = "instant"
    context_tokens = 1_000_000

    def __init__(self) -> None:
        self.extracted = "[]"
        self._asked = 0

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """No tokens."""
        return 0

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The extraction set before; every fifth time one fact is outdated."""
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Nothing to free."""

    def _outdated(self) -> str:
        self._asked += 1
        if self._asked % STEPS_A_RETIREMENT:
            return ""
        # Of E1 and each new triplet the first pair that was offered counts.
        return " ".join(f"E1>N{number}" for number in range(1, FACTS_A_STEP + 1))

    def _answer(self, request: Request) -> Completion:
        text = self.extracted if request.task == "extract" else self._outdated()
        return Completion(text, "", TokenCounts(), 0.0, StopReason.END)


@dataclass
class Figures:
    """Milliseconds at one size of the graph."""

    facts: int
    episodes: int
    update: float
    update_new: float
    search: float


def fill(store: Store, world: World, facts: int) -> None:
    """Grow the store to this many facts, ten a step."""
    step = store.last_step or 0
    known = lambda triplet: store.find(triplet) is not None  # noqa: E731
    while store.current_count() < facts:
        step += 1
        store.apply(StepChange(step, "An observation. " * 60, world.new_triplets(10, known)))


def observations(
    memory: AriGraph, world: World, *, new: int
) -> Iterator[tuple[str, list[Triplet]]]:
    """Steps of ten triplets, `new` of them new and one of these replacing a known fact."""
    store = memory.store
    known = lambda triplet: store.find(triplet) is not None  # noqa: E731
    while True:
        fresh = world.new_triplets(new, known)
        old = store.fact(world.random.randint(1, store.current_count()))
        place = world.random.choice(world.names)
        moved = Triplet(old.triplet.subject, "is in", place)
        restated = [
            store.fact(world.random.randint(1, store.current_count())).triplet
            for _ in range(FACTS_A_STEP - new)
        ]
        text = " ".join(f"There is {name}." for name in world.random.sample(world.names, 20))
        yield f"{text:<1000}"[:1000], [moved, *fresh[1:], *restated]


def median_ms(times: Sequence[float]) -> float:
    """The median of seconds, in milliseconds."""
    return statistics.median(times) * 1e3


def time_updates(
    memory: AriGraph, engine: InstantEngine, embedder: SummedEmbedder, world: World, new: int
) -> float:
    """Milliseconds of one `update`."""
    times = []
    steps = observations(memory, world, new=new)
    for _ in range(TIMED_STEPS):
        text, triplets = next(steps)
        engine.extracted = json.dumps([[t.subject, t.relation, t.object] for t in triplets])
        embedder.prepare([str(triplet) for triplet in triplets])
        start = time.perf_counter()
        memory.update(text)
        times.append(time.perf_counter() - start)
    return median_ms(times)


def time_searches(memory: AriGraph, world: World) -> float:
    """Milliseconds of one `search` for one query, all texts embedded before."""
    times = []
    for _ in range(TIMED_SEARCHES):
        query = str(world.triplet())
        memory.search([query], d=2, w=6, k=2)
        start = time.perf_counter()
        memory.search([query], d=2, w=6, k=2)
        times.append(time.perf_counter() - start)
    return median_ms(times)


def new_path(folder: Path, name: str, kind: StoreKind) -> Path:
    """The path of a graph in a folder of its own."""
    (folder / name).mkdir()
    return folder / name / graph_file(kind)


def measure(facts: int, kind: StoreKind, embedder: SummedEmbedder, folder: Path) -> Figures:
    """Grow a graph on disk and time it."""
    world = World(facts)
    embedder.learn([*world.names, *RELATIONS])
    store = open_store(kind, new_path(folder, f"{facts}", kind))
    fill(store, world, facts)
    engine = InstantEngine()
    settings = MemorySettings(structural_guard=False)
    with AriGraph(engine, embedder, store, settings=settings) as memory:
        return Figures(
            facts=facts,
            episodes=len(store.episodes()),
            update=time_updates(memory, engine, embedder, world, new=5),
            update_new=time_updates(memory, engine, embedder, world, new=10),
            search=time_searches(memory, world),
        )


def ratio_to_published(kind: StoreKind, real: Embedder, facts: int = 1000, pairs: int = 5) -> float:
    """How many times longer the published method takes for the same searches (d = 1, w = 6)."""
    world = World(facts)
    store = open_store(kind, None)
    fill(store, world, facts)
    with AriGraph(InstantEngine(), real, store) as memory:
        texts = [str(fact.triplet) for fact in store.current()]
        ratios = []
        for _ in range(pairs):
            query = str(world.triplet())
            start = time.perf_counter()
            memory.search([query], d=1, w=6, k=2)
            ours = time.perf_counter() - start
            start = time.perf_counter()
            vectors = real.embed([query, *texts])
            scores = vectors[1:] @ vectors[0]
            np.argsort(-scores)[:6]
            ratios.append((time.perf_counter() - start) / ours)
    return statistics.median(ratios)


def open_and_size(kind: StoreKind, folder: Path) -> tuple[float, float]:
    """Milliseconds to open, and megabytes on disk, of 300 facts and 150 episodes of 1 KB."""
    path = new_path(folder, "small", kind)
    world = World(300)
    store = open_store(kind, path)
    for step in range(1, 151):
        triplets = world.new_triplets(2, lambda triplet: store.find(triplet) is not None)
        store.apply(StepChange(step, "x" * 1000, triplets))
    store.close()
    size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
    times = []
    for _ in range(9):
        start = time.perf_counter()
        store = open_store(kind, path)
        times.append(time.perf_counter() - start)
        store.close()
    return median_ms(times), size


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of log time over log size: 1 is linear."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def report(figures: Sequence[Figures]) -> None:
    """The table of sizes, and how the cost grows."""
    print(f"{'facts':>8} {'episodes':>8} {'update ms':>10} {'10 new':>8} {'search ms':>10}")
    for row in figures:
        print(
            f"{row.facts:>8} {row.episodes:>8} {row.update:>10.2f} {row.update_new:>8.2f} "
            f"{row.search:>10.2f}"
        )
    if len(figures) > 1:
        sizes = [row.facts for row in figures]
        print(
            f"cost grows as facts^{exponent(sizes, [row.update for row in figures]):.2f} (update), "
            f"facts^{exponent(sizes, [row.search for row in figures]):.2f} (search)"
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1e4 facts, within a minute")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--store", choices=["kuzu", "ladybug"], default="kuzu")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    real = load_embedder()
    embedder = SummedEmbedder(real)
    sizes = [100, 1_000, 10_000] if options.quick else [100, 1_000, 10_000, 100_000]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened, size = open_and_size(options.store, folder)
        print(f"300 facts, 150 episodes: opens in {opened:.0f} ms, {size:.2f} MB on disk")
        figures = [measure(facts, options.store, embedder, folder) for facts in sizes]
    report(figures)
    ratio = ratio_to_published(options.store, real)
    print(f"published method, 1e3 facts: {ratio:.0f} times our time for the same search")
    if options.json:
        record: dict[str, float] = {"open_ms": opened, "disk_mb_300": size}
        for row in figures:
            power = f"1e{len(str(row.facts)) - 1}"
            record |= {f"update_ms_{power}": row.update, f"search_ms_{power}": row.search}
        print(json.dumps(record | {"ratio_published_1e3": ratio}))


if __name__ == "__main__":
    main()
