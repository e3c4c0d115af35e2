"""The limit of taking in hook calls: a server that only writes each call to SQLite.

``python -m bench.bare_intake SOCKET`` serves on a socket as the daemon does, in Python with
uvloop and one writer thread that commits calls in groups, full sync. It parses nothing and
keeps no sessions.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

import uvloop

from bench.homes import scratch, until
from rookery.programs.hook import TAKEN
from rookery.store.connections import open_file


class _Call(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, calls: SimpleQueue[_Call]) -> None:
        self._calls = calls
        self.data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        first, _, body = self.data.partition(b"\n")
        if body and len(body) >= int(first.split()[2]):
            self._calls.put(self)


@contextmanager
def serving() -> Iterator[Path]:
    """Run the server in another process while the context is open."""
    with scratch() as folder:
        path = folder / "bare.sock"
        command = [sys.executable, "-m", "bench.bare_intake", str(path)]
        with subprocess.Popen(command) as server:
            try:
                until(path.exists)
                yield path
            finally:
                server.kill()


async def _serve(path: Path) -> None:
    loop, calls = asyncio.get_running_loop(), SimpleQueue[_Call]()
    Thread(target=_write, args=(path, loop, calls), daemon=True).start()
    await loop.create_unix_server(lambda: _Call(calls), path)
    await asyncio.Event().wait()


def _write(path: Path, loop: asyncio.AbstractEventLoop, calls: SimpleQueue[_Call]) -> None:
    with closing(open_file(path.with_suffix(".db"))) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table calls (number integer primary key, data blob)")
        while True:
            batch = [calls.get()]
            with suppress(Empty):
                while True:
                    batch.append(calls.get_nowait())
            db.execute("begin immediate")
            for call in batch:
                db.execute("insert into calls (data) values (?)", (call.data,))
            db.execute("commit")
            loop.call_soon_threadsafe(_answer, batch)


def _answer(batch: Sequence[_Call]) -> None:
    for call in batch:
        call.transport.write(TAKEN)
        call.transport.close()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1])))
