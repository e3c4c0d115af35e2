"""Import modules without garbage collections in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


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
