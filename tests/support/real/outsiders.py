"""Processes that nobody of us started: agents of others, and whoever pretends to be one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.support.real.rookery import Rookery

#: Runs the hook program for each line that it reads, as an agent does for each of its hooks.
AGENT = """
import subprocess, sys
for line in sys.stdin.buffer:
    done = subprocess.run(sys.argv[1:], input=line, capture_output=True)
    sys.stdout.buffer.write(done.stdout.replace(b"\\n", b" ") + b"\\n")
    sys.stdout.buffer.flush()
"""


class Outsider:
    """A process, and what its hooks are told."""

    def __init__(self, running: subprocess.Popen[bytes]) -> None:
        self._running = running

    @property
    def pid(self) -> int:
        return self._running.pid

    def tell(self, payload: Mapping[str, object]) -> str:
        """Run a hook; return what it prints."""
        self._write(json.dumps(payload).encode() + b"\n")
        return self._read().decode().strip()

    def _write(self, line: bytes) -> None:
        into: IO[bytes] | None = self._running.stdin
        assert into
        into.write(line)
        into.flush()

    def _read(self) -> bytes:
        out: IO[bytes] | None = self._running.stdout
        assert out
        return out.readline()


@contextmanager
def outsider(
    rookery: Rookery, *words: str, agent: str = "claude", called: str = "claude"
) -> Iterator[Outsider]:
    """Have a process of that name, outside of all panes, whose hooks speak for an agent.

    The words stand on its command line, and mean nothing.
    """
    folder = Path(rookery.folder / f"outside-{called}")
    folder.mkdir(exist_ok=True)
    program, home = folder / called, rookery.home
    program.write_text(AGENT)
    hook = (sys.executable, "-I", "-S", home.hook, home.hook_door, home.spool, agent)
    running = subprocess.Popen(
        [sys.executable, program, *hook, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},
    )
    try:
        yield Outsider(running)
    finally:
        running.communicate()
