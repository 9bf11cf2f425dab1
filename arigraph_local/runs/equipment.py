"""Loading what a run needs: the model, the embedder, the game."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from arigraph_local.config import RunConfig
from arigraph_local.envs.games import open_game, parse_game_name
from arigraph_local.errors import unknown_name
from arigraph_local.llm.catalogue import LocatedModel, locate, models_folder
from arigraph_local.llm.chat import FORMATS
from arigraph_local.llm.engine import Engine
from arigraph_local.llm.llama import LlamaEngine
from arigraph_local.llm.prompts import PromptSet
from arigraph_local.llm.registry import ModelKind
from arigraph_local.llm.settings import EngineSettings
from arigraph_local.llm.transfer import file_sha256
from arigraph_local.memory.sentence_transformer import SentenceTransformerEmbedder
from arigraph_local.runs.runner import Equipment

Say = Callable[[str], None]
_CONVERSATIONS = 2


@contextmanager
def equipment(config: RunConfig, models: Path | None, say: Say) -> Iterator[Equipment]:
    """Everything a run needs, loaded; freed on leaving.

    What can be refused cheaply is refused first. The embedder loads in the background while the
    game is built and the model is read.
    """
    check_names(config)
    folder = models_folder(models)
    model = locate(config.model, folder, ModelKind.GGUF)
    embedder = load_embedder(config.embedder, folder)
    with ExitStack() as stack:
        embedder.start_loading()
        say(f"game: {config.game}")
        environment, files = open_game(config.game)
        stack.callback(environment.close)
        say(f"model: {model.name} from {model.path}")
        engine = load_engine(model, config.engine)
        stack.callback(engine.close)
        say(f"embedder: {embedder.name}")
        yield Equipment(
            engine=engine,
            embedder=embedder,
            environment=environment,
            game_digest=files.digest,
            steps=config.agent.steps or files.step_limit,
        )


def check_names(config: RunConfig) -> None:
    """Raises `UsageError` for a game, prompt set or chat format that does not exist."""
    if not config.game.endswith(".z8"):
        parse_game_name(config.game)
    PromptSet(config.prompts)
    chat_format = config.engine.chat_format
    if chat_format is not None and chat_format not in FORMATS:
        raise unknown_name("chat format", chat_format, FORMATS)


def load_engine(model: LocatedModel, settings: EngineSettings) -> Engine:
    """The llama.cpp engine on a model of the catalogue or a file, identified by its checksum."""
    checksum = model.sha256 or file_sha256(model.path)
    chat_format = settings.chat_format or (model.entry.chat_format if model.entry else None)
    return LlamaEngine.load(
        model.path,
        model_id=f"{model.name} sha256:{checksum}",
        context_tokens=settings.context,
        conversations=_CONVERSATIONS,
        threads=settings.threads,
        gpu_layers=settings.gpu_layers,
        chat_format=chat_format,
    )


def load_embedder(name: str, folder: Path) -> SentenceTransformerEmbedder:
    """The embedder of a catalogue name, or of a sentence-transformers folder by path."""
    model = locate(name, folder, ModelKind.EMBEDDER)
    threshold = model.entry.threshold if model.entry and model.entry.threshold else 0.0
    return SentenceTransformerEmbedder(model.path, model.name, threshold)
