"""The processes of a driven agent end with its session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

from rookery.drivers.commands import Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.driver import DriverContext, DriverLaunch
from rookery.drivers.event_file import EventWriter
from rookery.drivers.events import Ended, TextAdded, Up
from rookery.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.real, pytest.mark.spec("A4")]

SOON = 20.0

#: Starts a process in a session of its own, says its pid, and ends with its input.
_AGENT = "setsid sleep 1000 >/dev/null 2>&1 & echo $!; cat"


class ShellDriver:
    """Runs a shell as its agent, and ends it by closing its input."""

    def __init__(self, launch: DriverLaunch, around: DriverContext) -> None:
        self._around = around
        self._agent: asyncio.subprocess.Process | None = None

    async def run(self) -> Ended:
        pipe = asyncio.subprocess.PIPE
        self._agent = await asyncio.create_subprocess_exec(
            "sh", "-c", _AGENT, stdin=pipe, stdout=pipe
        )
        assert self._agent.stdout
        pid = await self._agent.stdout.readline()
        self._around.report(TextAdded(pid.decode().strip()))
        self._around.report(Up("it"))
        await self._agent.wait()
        return Ended("completed", "it was closed")

    async def prompt(self, text: str) -> None: ...

    async def interrupt(self) -> None: ...

    async def close(self) -> None:
        if self._agent and self._agent.stdin:
            self._agent.stdin.close()
            await self._agent.wait()

    @property
    def pid(self) -> int | None:
        running = self._agent and self._agent.returncode is None
        return self._agent.pid if self._agent and running else None


async def test_a_process_in_a_session_of_its_own_ends_with_an_agent_that_is_closed(
    tmp_path: Path,
) -> None:
    grown = asyncio.Event()
    path = tmp_path / "events"
    start = Start("s", "shell", (), {}, str(tmp_path), {})
    session = DrivenSession(start, EventWriter(path), grown.set)
    running = asyncio.ensure_future(session.run(lambda: ShellDriver))
    with anyio.fail_after(SOON):
        while '"up"' not in path.read_text():
            grown.clear()
            await grown.wait()
        child = int(path.read_text().split('"text":"')[1].split('"')[0])
        assert Process.of(child)

        await session.close()
        await running

        while Process.of(child):
            await anyio.lowlevel.checkpoint()
    session.release()
