"""Playing one run, from its config to its result; the same for a new run and a resumed one."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from arigraph_local.agent.ariadne import Ariadne
from arigraph_local.agent.episode import Player, play
from arigraph_local.agent.examples import ActingExamples
from arigraph_local.agent.long_term_memory import LongTermMemory
from arigraph_local.agent.navigation import Navigator
from arigraph_local.config import NO_MODEL, RunConfig
from arigraph_local.envs.environment import Environment
from arigraph_local.errors import RunError
from arigraph_local.events import Event, GameRestarted, Interrupted, RunStarted
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.search.embedder import Embedder
from arigraph_local.players.ariadne_player import AriadnePlayer
from arigraph_local.runs.event_log import FILE, EventLog, cut_after_last_step, read_events
from arigraph_local.runs.restarts import Restarts
from arigraph_local.runs.resume import replay
from arigraph_local.runs.run_folder import RunFolder, RunResult
from arigraph_local.runs.run_graph import Say
from arigraph_local.runs.run_memory import Tools, make_memory
from arigraph_local.runs.summary import Summary

Listener = Callable[[Event], None]
_PACKAGES = ("arigraph-local", "jericho", "nle", "textworld")
_PACKAGES_OF_MODELS = ("llama-cpp-python", "llguidance", "sentence-transformers", "torch")


@dataclass(frozen=True)
class Equipment:
    """What a run needs besides its config: an open game, and a loaded engine and embedder.

    Without an engine and an embedder there is no memory; then `player` must be given. None stands
    for Ariadne. `restarts` is told by the environment when it was started again.
    """

    engine: Engine | None
    embedder: Embedder | None
    environment: Environment
    game_digest: str
    steps: int
    player: Player | None = None
    restarts: Restarts = field(default_factory=Restarts)


class _Recorder:
    """Writes each event to the log, adds it up, and tells the listeners."""

    def __init__(self, log: EventLog, past: Sequence[Event], listeners: Sequence[Listener]) -> None:
        self.summary = Summary().add_all(past)
        self._log = log
        self._listeners = listeners
        for event in past:
            self._tell(event)

    def write(self, event: Event) -> None:
        stamped = self._log.write(event)
        self.summary.add(stamped)
        self._tell(stamped)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def run_episode(
    folder: RunFolder,
    equipment: Equipment,
    listeners: Sequence[Listener] = (),
    say: Say = lambda _: None,
) -> RunResult:
    """Play the run of a folder to its end, going on from its last finished step if it has any.

    Listeners are told every event, those of earlier steps first; `say` what else the user should
    know, in one line. Ctrl-C leaves an `interrupted`
    event and raises `KeyboardInterrupt`; any failure leaves the finished steps in the log, from
    which a later call goes on.
    """
    done = folder.result()
    if done is not None:
        return done
    config = folder.config()
    with ExitStack() as stack:
        stack.callback(folder.lock().release)
        past = _past(folder, config, equipment)
        memory = None
        if equipment.engine is not None and equipment.embedder is not None:
            game = equipment.environment
            tools = Tools(equipment.engine, equipment.embedder, game.goal, game.true_facts)
            memory = make_memory(config, tools, folder.graph, past, say)
        if memory is not None:
            stack.callback(memory.close)
        navigator = Navigator(memory, config.agent.navigation)
        player = equipment.player or _ariadne(config, equipment, memory, navigator)
        position, step = replay(past, equipment.environment, memory, navigator, player)
        log = stack.enter_context(EventLog(folder.path))
        recorder = _Recorder(log, past, listeners)
        if not past:
            recorder.write(_header(config, equipment, position.observation.max_score))
        equipment.restarts.hand_to(lambda reason: _note_restart(recorder, reason, say))
        stack.callback(equipment.restarts.hand_to, say)
        try:
            play(
                equipment.environment,
                player,
                memory,
                navigator,
                recorder.write,
                steps=equipment.steps,
                start=position,
                first_step=step,
            )
        except KeyboardInterrupt:
            recorder.write(Interrupted(step=recorder.summary.step, reason="keyboard"))
            raise
    result = recorder.summary.result()
    if result is None:
        raise RunError(f"{folder.path}: the run ended without a result")
    folder.write_result(result)
    return result


def _note_restart(recorder: _Recorder, reason: str, say: Say) -> None:
    say(reason)
    recorder.write(GameRestarted(step=recorder.summary.step, reason=reason))


def _past(folder: RunFolder, config: RunConfig, equipment: Equipment) -> list[Event]:
    """The finished steps of the log, which is cut to them; none of a run that never began.

    Raises `RunError` if the run was begun with another player, model, embedder or game.
    """
    if not (folder.path / FILE).exists():
        return []
    events = read_events(folder.path)
    if not events:
        return []
    started = events[0]
    if not isinstance(started, RunStarted):
        raise RunError(f"{folder.path / FILE}:1: not the start of a run")
    for name, old, new in (
        ("player", started.player, config.player),
        ("model", started.model, _model_id(equipment)),
        ("embedder", started.embedder, _embedder_name(equipment)),
        ("game", started.game_digest, equipment.game_digest),
    ):
        if old != new:
            raise RunError(f"cannot resume: the run was begun with {name} {old}, now it is {new}")
    cut_after_last_step(folder.path)
    return read_events(folder.path)


def _ariadne(
    config: RunConfig, equipment: Equipment, memory: LongTermMemory | None, navigator: Navigator
) -> Player:
    if equipment.engine is None or memory is None:
        raise RunError("the player ariadne needs a model and an embedder")
    prompts = PromptSet(config.prompts)
    examples = None
    if config.agent.examples and equipment.embedder is not None:
        examples = ActingExamples.load(prompts, equipment.embedder)
    agent = Ariadne(
        equipment.engine,
        memory,
        navigator,
        equipment.environment.goal,
        prompts=prompts,
        settings=config.agent,
        examples=examples,
        seed=config.seed,
        reply_seconds=config.engine.reply_seconds,
        reasoning_tokens=config.engine.reasoning_tokens,
    )
    return AriadnePlayer(agent)


def _header(config: RunConfig, equipment: Equipment, max_score: int) -> RunStarted:
    return RunStarted(
        step=0,
        game=config.game,
        game_digest=equipment.game_digest,
        goal=equipment.environment.goal,
        max_score=max_score,
        player=config.player,
        memory=config.memory.name if equipment.engine is not None else NO_MODEL,
        ablations=config.ablations if equipment.engine is not None else (),
        model=_model_id(equipment),
        embedder=_embedder_name(equipment),
        seed=config.seed,
        mode=config.engine.mode,
        versions=_versions(config, equipment),
    )


def _model_id(equipment: Equipment) -> str:
    return NO_MODEL if equipment.engine is None else equipment.engine.model_id


def _embedder_name(equipment: Equipment) -> str:
    return NO_MODEL if equipment.embedder is None else equipment.embedder.name


def _versions(config: RunConfig, equipment: Equipment) -> dict[str, str]:
    """Of Python and of the packages, where they are installed, that a run depends on."""
    packages = set(_PACKAGES)
    if equipment.engine is not None:
        packages |= {*_PACKAGES_OF_MODELS, config.memory.store}
    versions = {"python": platform.python_version()}
    for name in sorted(packages):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
