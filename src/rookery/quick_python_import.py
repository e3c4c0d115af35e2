"""Spare garbage collections: none during imports, few in processes that run long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

#: New objects before a collection. Python's default of 700 is reached several times in a turn
#: of an agent, and almost nothing that is found then is garbage.
COLLECTION_THRESHOLD = 20_000


def collect_rarely() -> None:
    """Make the garbage collections of this process rare."""
    gc.set_threshold(COLLECTION_THRESHOLD)


@contextmanager
def without_collections() -> Iterator[None]:
    """Import modules that are large, or for which a user waits.

    Almost everything that an import makes stays. Collections meanwhile find nothing, and take
    a tenth of the time; later ones need not look at it again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def import_quickly(name: str) -> ModuleType:
    with without_collections():
        return import_module(name)
