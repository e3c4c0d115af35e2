"""A real runtime on a tmux server of its own, in a folder of its own."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

from rookery.clock import WallClock
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite


@contextmanager
def site_in(folder: Path) -> Iterator[ServerSite]:
    """Give a place for a tmux server; whatever ran there is ended afterwards."""
    site = ServerSite("tmux", folder / "t.sock", folder, lines=1_000)
    kill = [site.tmux, "-S", str(site.socket), "kill-server"]
    try:
        yield site
    finally:
        subprocess.run(kill, check=False, capture_output=True)


@asynccontextmanager
async def holding(site: ServerSite) -> AsyncIterator[TmuxRuntime]:
    """Hold what runs there while the block lasts, as a daemon does; it lives on."""
    runtime = TmuxRuntime(site, WallClock(), typing=2.0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.keep)
        await runtime.find()  # connected: a server that still starts could not be ended
        yield runtime
        tasks.cancel_scope.cancel()
