"""Loading what a run needs: the model, the embedder, the game."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from arigraph_local.config import RunConfig
from arigraph_local.envs.games import open_game, parse_game_name
from arigraph_local.errors import unknown_name
from arigraph_local.llm.chat.chat_format import FORMATS
from arigraph_local.llm.files.catalogue import locate, models_folder
from arigraph_local.llm.files.registry import ModelKind
from arigraph_local.llm.loading import load_engine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.memory.learning.extraction import opening
from arigraph_local.memory.search.embedder_loading import load_embedder
from arigraph_local.runs.runner import Equipment

Say = Callable[[str], None]


@contextmanager
def equipment(config: RunConfig, models: Path | None, say: Say) -> Iterator[Equipment]:
    """Everything a run needs, loaded; freed on leaving.

    What can be refused cheaply is refused first. The embedder loads in the background while the
    game is built and the model is read.
    """
    check_names(config)
    source = config.engine.server or _model_file(config.model, models)
    embedder = load_embedder(config.embedder, models, config.memory.embed_batch)
    with ExitStack() as stack:
        embedder.start_loading()
        say(f"game: {config.game}")
        environment, files = open_game(config.game)
        stack.callback(environment.close)
        say(f"model: {config.model} from {source}")
        engine = load_engine(config.model, config.engine, models)
        stack.callback(engine.close)
        say(f"embedder: {embedder.name}")
        yield Equipment(
            engine=engine,
            embedder=embedder,
            environment=environment,
            game_digest=files.digest,
            steps=config.agent.steps or files.step_limit,
        )


def _model_file(name: str, models: Path | None) -> Path:
    return locate(name, models_folder(models), ModelKind.GGUF).path


def check_names(config: RunConfig) -> None:
    """Raises `UsageError` for a game or chat format that does not exist, or a prompt set that
    does not or whose extraction turns are faulty.
    """
    if not config.game.endswith(".z8"):
        parse_game_name(config.game)
    opening(PromptSet(config.prompts))
    chat_format = config.engine.chat_format
    if chat_format is not None and chat_format not in FORMATS:
        raise unknown_name("chat format", chat_format, FORMATS)
