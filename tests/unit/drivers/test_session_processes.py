"""The processes of a driven agent end with its session."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import anyio
import pytest

from rookery.drivers.commands import Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.driver import DriverContext, DriverLaunch
from rookery.drivers.event_file import EventWriter
from rookery.drivers.events import Ended, TextAdded, ToolBegan, Up
from rookery.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.real, pytest.mark.spec("A4")]

SOON = 20.0

#: Starts a process in a session of its own, says its pid, and ends with its input.
_AGENT = "setsid sleep 1000 >/dev/null 2>&1 & echo $!; exec cat"


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


class Running:
    """A session whose agent has started a process."""

    def __init__(self, folder: Path) -> None:
        self._grown = asyncio.Event()
        self._path = folder / "events"
        start = Start("s", "shell", (), {}, str(folder), {})
        self.session = DrivenSession(start, EventWriter(self._path), self._grown.set)
        self._running = asyncio.ensure_future(self.session.run(lambda: ShellDriver))

    async def until(self, word: str) -> str:
        """Wait until the event file has a word; return all of it."""
        while word not in (text := self._path.read_text()):
            self._grown.clear()
            await self._grown.wait()
        return text

    async def child(self) -> int:
        text = await self.until('"up"')
        return int(text.split('"text":"')[1].split('"')[0])

    async def until_ended(self, pid: int) -> None:
        await self._running
        while Process.of(pid):
            await anyio.lowlevel.checkpoint()
        self.session.release()


async def test_a_process_in_a_session_of_its_own_ends_with_an_agent_that_is_closed(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(SOON):
        running = Running(tmp_path)
        child = await running.child()
        assert Process.of(child)

        await running.session.close()

        await running.until_ended(child)


async def test_a_command_ends_with_an_agent_that_is_killed_while_it_runs_one(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(SOON):
        running = Running(tmp_path)
        child = await running.child()
        running.session.report(ToolBegan("1", "Bash"))
        await running.until(f'"{child}:')

        assert running.session.driver
        assert running.session.driver.pid
        os.kill(running.session.driver.pid, signal.SIGKILL)

        await running.until_ended(child)
