from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

Rookery.is_warm = True


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Rookery]:
    """Give a home whose daemon does not run yet."""
    rookery = Rookery(tmp_path)
    yield rookery
    rookery.clear_away()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rookery]:
    """Give one running home for all tests that change nothing and start no session."""
    rookery = Rookery(tmp_path_factory.mktemp("served"))
    rookery.up()
    yield rookery
    rookery.clear_away()


@pytest.fixture
def models() -> Iterator[ModelServer]:
    """Give a scripted model, on loopback."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def rookery(cold: Rookery) -> Rookery:
    """Give a home with its daemon running."""
    cold.up()
    return cold
