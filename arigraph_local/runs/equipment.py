"""Loading what a run needs: the game, the player, the model and the embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from arigraph_local.agent.episode import Player
from arigraph_local.config import RunConfig
from arigraph_local.envs.games import FAMILIES, is_game_file, parse_game_name
from arigraph_local.envs.opening import OpenGame, open_game
from arigraph_local.errors import UsageError, unknown_name
from arigraph_local.llm.chat.chat_format import FORMATS
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.files.registry import ModelKind
from arigraph_local.llm.loading import load_engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.extraction import opening
from arigraph_local.memory.search.embedder_loading import load_embedder
from arigraph_local.memory.search.sentence_transformer import SentenceTransformerEmbedder
from arigraph_local.players.human_player import HumanPlayer, Terminal
from arigraph_local.players.oracle_player import OraclePlayer
from arigraph_local.players.random_player import RandomPlayer
from arigraph_local.players.walkthrough_player import WalkthroughPlayer
from arigraph_local.runs.restarts import Restarts
from arigraph_local.runs.runner import Equipment

Say = Callable[[str], None]


@contextmanager
def equipment(
    config: RunConfig, models: Path | None, say: Say, terminal: Terminal | None = None
) -> Iterator[Equipment]:
    """Everything a run needs, loaded; freed on leaving. `terminal` is for a human player.

    What can be refused cheaply is refused first. The embedder loads in the background while the
    game is built and the model is read. Without a need for a model, none is looked for.
    """
    check_names(config)
    with ExitStack() as stack:
        thinking = _begin_loading(config, models) if config.needs_model else None
        say(f"game: {config.game}")
        restarts = Restarts()
        game = open_game(config.game, restarts)
        stack.callback(game.environment.close)
        player = _player(config, game, terminal)
        engine = embedder = None
        if thinking is not None:
            source, embedder = thinking
            say(f"model: {config.model} from {source}")
            engine = load_engine(config.model, config.engine, models)
            stack.callback(engine.close)
            say(f"embedder: {embedder.name}")
        yield Equipment(
            engine=engine,
            embedder=embedder,
            environment=game.environment,
            game_digest=game.digest,
            steps=config.agent.steps or game.step_limit,
            player=player,
            restarts=restarts,
        )


def _begin_loading(
    config: RunConfig, models: Path | None
) -> tuple[str | Path, SentenceTransformerEmbedder]:
    """Where the model comes from, and an embedder that is being loaded."""
    source = config.engine.server or _model_file(config.model, models)
    embedder = load_embedder(config.embedder, models, config.memory.embed_batch)
    embedder.start_loading()
    return source, embedder


def _player(config: RunConfig, game: OpenGame, terminal: Terminal | None) -> Player | None:
    """The player of this config; None for Ariadne, which is made together with its memory.

    Raises `UsageError` where the game has no walkthrough or no oracle.
    """
    if config.player == "random":
        return RandomPlayer(config.seed)
    if config.player == "walkthrough":
        if not game.walkthrough:
            raise UsageError(f"no walkthrough of '{config.game}' is known")
        return WalkthroughPlayer(game.walkthrough)
    if config.player == "oracle":
        family = FAMILIES.get(game.family or "")
        if family is None:
            raise UsageError(f"no oracle knows how to play '{config.game}'")
        return OraclePlayer(family.oracle(), game.environment)
    if config.player == "human":
        if terminal is None:
            raise UsageError("a human player needs a terminal")
        return HumanPlayer(terminal, game.environment.goal)
    return None


def _model_file(name: str, models: Path | None) -> Path:
    return locate(name, models_folder(models), ModelKind.GGUF).path


def check_names(config: RunConfig) -> None:
    """Raises `UsageError` for a game or chat format that does not exist, or a prompt set that
    does not or whose extraction turns are faulty.
    """
    if not is_game_file(config.game):
        parse_game_name(config.game)
    if not config.needs_model:
        return
    opening(PromptSet(config.prompts))
    chat_format = config.engine.chat_format
    if chat_format is not None and chat_format not in FORMATS:
        raise unknown_name("chat format", chat_format, FORMATS)
