"""Shared by the tests of the environments: a cache of games, and the published games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arigraph_local.envs.games import CACHE_VARIABLE, GameFiles, make_game
from arigraph_local.envs.textworld_env import TextWorldEnvironment

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "data" / "games"


@pytest.fixture(scope="session")
def games_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("games")


@pytest.fixture(autouse=True)
def _cache_in_a_temporary_folder(games_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(games_folder))


@pytest.fixture(scope="session")
def easy(games_folder: Path) -> GameFiles:
    return make_game("hunt:easy@3", games_folder)


@pytest.fixture
def environment(easy: GameFiles) -> Iterator[TextWorldEnvironment]:
    game = TextWorldEnvironment(easy.story)
    yield game
    game.close()


@pytest.fixture
def published() -> Path:
    if not PUBLISHED.is_dir():
        pytest.skip("the published games are not beside this checkout (../shared/data/games)")
    return PUBLISHED
