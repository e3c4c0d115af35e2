from __future__ import annotations

import compileall
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection

import psutil
import pytest
from hypothesis import settings

from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase

# An example may take long on a busy machine; how long says nothing about the code.
settings.register_profile("rookery", deadline=None)
settings.load_profile("rookery")

#: A file system in memory, on Linux.
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a private folder in it
#: The temporary folders of one run need about 1 GB.
MIN_FREE_BYTES = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Give each process of the tests the same surroundings.

    Bytecode is written once: where Python may not, each process compiles all of it.
    """
    # A run in the background of a shell inherits that SIGINT is ignored, and the commands that
    # tests start would inherit it, too: Ctrl-C would not end them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Half of the time of a run was waiting for the disk at each commit to a test's database.
    if _has_room_in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # Of the tests, too: each worker would rewrite the assertions of all of them.
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(config.rootpath / "src", quiet=2)


def _has_room_in_memory() -> bool:
    """Return whether temporary folders, and the programs in them, fit into ``MEMORY``."""
    with suppress(OSError):
        runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
        free = min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available)
        return runs_programs and os.access(MEMORY, os.W_OK) and free >= MIN_FREE_BYTES
    return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the modules of each folder over the run, so that each worker gets a part of all.

    Tests with real programs mostly wait, and unit tests compute: together they use the time.
    """
    folders = [item.path.parts[len(item.config.rootpath.parts) :][:2] for item in items]
    totals = Counter(folders)
    seen = Counter[tuple[str, ...]]()
    places = dict[Path, float]()
    for item, folder in zip(items, folders, strict=True):
        places.setdefault(item.path, seen[folder] / totals[folder])
        seen[folder] += 1
    items.sort(key=lambda item: places[item.path])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def journal(clock: FakeClock) -> Journal:
    return Journal("here", clock, readers={})


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[ObservedDatabase]:
    async with ObservedDatabase(tmp_path / "rookery.db", clock) as database:
        yield database


@pytest.fixture
def db() -> Iterator[Connection]:
    """Give a store for what decides: no file, no thread, no loop; in a transaction."""
    db = open_file(":memory:")
    migrate(db)
    db.execute("begin")
    yield db
    db.close()
