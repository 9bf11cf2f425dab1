"""The long-term memory of a run, by its name in the config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.agent.arigraph_memory import AriGraphMemory
from arigraph_local.agent.long_term_memory import LongTermMemory
from arigraph_local.baselines.asking import MemoryAsker
from arigraph_local.baselines.full_history import FullHistory
from arigraph_local.baselines.hipporag import HippoRag
from arigraph_local.baselines.memgpt import MemGpt
from arigraph_local.baselines.nothing import NoMemory
from arigraph_local.baselines.oracle_graph import GraphNoise, OracleGraph, TrueFacts
from arigraph_local.baselines.rag import Rag
from arigraph_local.baselines.reflexion import Reflexion
from arigraph_local.baselines.simulacra import Simulacra
from arigraph_local.baselines.summary import Summary
from arigraph_local.baselines.temporal_kg import TemporalKG
from arigraph_local.config import RunConfig
from arigraph_local.events import Event
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.arigraph import AriGraph
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.runs.run_graph import Say, run_graph


@dataclass(frozen=True)
class Tools:
    """What memories are made with: a model, an embedder, the goal of the game, and its true state,
    which only the oracle reads."""

    engine: Engine
    embedder: Embedder
    goal: str
    true_facts: TrueFacts


def make_memory(
    config: RunConfig, tools: Tools, graph: Path, past: Sequence[Event], say: Say
) -> LongTermMemory:
    """The memory that the config names. A graph is brought to where the log `past` ends; what is
    not a graph is taken up as the log is replayed."""
    memory = _without_graph(config, tools)
    if memory is not None:
        return memory
    name, settings = config.memory.name, config.memory
    if name == "hipporag":
        settings = settings.model_copy(update={"detect_outdated": False})
    built = _graph(config, settings, tools, graph, past, say)
    if name == "temporal-kg":
        return TemporalKG(built, facts=settings.found_facts)
    if name == "hipporag":
        facts, passages = settings.found_facts, settings.episodes
        return HippoRag(built, facts=facts, passages=passages)
    if name == "oracle-graph":
        noise = GraphNoise(settings.graph_noise, config.seed)
        return OracleGraph(built, tools.true_facts, noise)
    return AriGraphMemory(built)


def _without_graph(config: RunConfig, tools: Tools) -> LongTermMemory | None:
    """A memory that keeps no graph; None where the config names one that does."""
    name, settings = config.memory.name, config.memory
    prompts = PromptSet(config.prompts)
    ask = MemoryAsker(tools.engine, prompts, tools.goal, config.engine.reply_seconds)
    match name:
        case "none":
            return NoMemory()
        case "full-history":
            return FullHistory()
        case "rag":
            return Rag(tools.embedder, settings.retrieved)
        case "summary":
            return Summary(ask)
        case "reflexion":
            return Reflexion(ask, settings.lessons)
        case "simulacra":
            return Simulacra(ask, tools.embedder, settings.retrieved)
        case "memgpt":
            return MemGpt(ask, tools.embedder, settings.retrieved)
    return None


def _graph(
    config: RunConfig,
    settings: MemorySettings,
    tools: Tools,
    path: Path,
    past: Sequence[Event],
    say: Say,
) -> AriGraph:
    store = run_graph(path, config.memory.store, past, say)
    try:
        return AriGraph(
            tools.engine,
            tools.embedder,
            store,
            prompts=PromptSet(config.prompts),
            settings=settings,
            reply_seconds=config.engine.reply_seconds,
        )
    except BaseException:
        store.close()
        raise
