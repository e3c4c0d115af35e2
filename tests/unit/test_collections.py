"""Garbage collections: rare in processes that run long."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from rookery.quick_python_import import collect_rarely, import_quickly


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_collections_stay_on_and_are_rare_also_after_an_import() -> None:
    collect_rarely()
    import_quickly("rookery")

    assert gc.isenabled()
    assert gc.get_threshold()[0] > 10 * 700
