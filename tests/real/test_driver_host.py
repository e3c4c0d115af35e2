"""One real driver host with many sessions, whose agents are scripted."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from rookery.clock import WallClock
from rookery.drivers.commands import AgentPrompt, Close, Kill, List, Release, Retire, Start
from rookery.drivers.event_file import EventReader, path_of
from rookery.drivers.events import (
    Ended,
    Event,
    PromptTaken,
    TextAdded,
    TurnOver,
    Up,
)
from rookery.drivers.host_files import read_process
from rookery.processes import Process
from rookery.runtimes.driven.host_connection import HostConnection
from rookery.runtimes.driven.host_process import HostSite
from tests.support.paths import SUPPORT

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SOON = 40.0

PROGRAM = (sys.executable, "-I", "-S", str(SUPPORT / "scripted_claude.py"))


class ManySessions:
    """The sessions of a host, and what each has reported."""

    def __init__(self, site: HostSite, folder: Path) -> None:
        self._folder = folder
        self._site = site
        self._readers: dict[str, EventReader] = {}
        self._grown = asyncio.Event()
        self.events: dict[str, list[Event]] = {}
        self.host = HostConnection(site, WallClock(), grown=self._read, lost=self._grown.set)

    def _read(self, session: str) -> None:
        found = self._readers[session].read()
        self.events[session] += [entry.event for entry in found]
        self._grown.set()

    async def start(self, session: str) -> None:
        self._readers[session] = EventReader(path_of(self._site.events, session))
        self.events[session] = []
        start = Start(
            session=session,
            driver="sdk",
            argv=PROGRAM,
            environment={"PATH": os.environ["PATH"]},
            folder=str(self._folder),
            options={},
        )
        await self.host.ask(start, may_start=True)

    async def until(self, session: str, kind: type[Event], number: int = 1) -> None:
        async with asyncio.timeout(SOON):
            while self.count(session, kind) < number:
                self._grown.clear()
                await self._grown.wait()

    def count(self, session: str, kind: type[Event]) -> int:
        return sum(isinstance(each, kind) for each in self.events[session])


@asynccontextmanager
async def hosted(tmp_path: Path) -> AsyncIterator[ManySessions]:
    site = HostSite(
        tmp_path / "s",
        tmp_path / "key",
        tmp_path / "events",
        tmp_path / "log" / "drivers.log",
        tmp_path / "pid",
    )
    many = ManySessions(site, tmp_path)
    try:
        yield many
    finally:
        for each in many.events:
            await many.host.ask(Release(each))
        await many.host.ask(Retire())
        await many.host.close()


@pytest.mark.spec("G1")
async def test_fifty_sessions_of_one_host_each_get_their_own_answers(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(50)]
    async with hosted(tmp_path) as many:

        async def work(name: str) -> None:
            await many.start(name)
            await many.until(name, Up)
            for turn in range(3):
                words = f"say: {name} {turn};; cost: 0.1"
                for _ in range(2):  # a repeated key is passed on once
                    await many.host.ask(AgentPrompt(name, str(turn), words))
                await many.until(name, TurnOver, turn + 1)

        await asyncio.gather(*map(work, names))
        await asyncio.gather(*(many.host.ask(Close(name)) for name in names))
        await asyncio.gather(*(many.until(name, Ended) for name in names))

    for name in names:
        said = [each.text for each in many.events[name] if isinstance(each, TextAdded)]
        assert said == [f"{name} {turn}" for turn in range(3)]
        assert (many.count(name, PromptTaken), many.count(name, TurnOver)) == (3, 3)
        assert many.events[name][-1] == Ended("completed", "it was closed")


@pytest.mark.spec("A5")
async def test_the_end_of_one_session_leaves_the_others_alone(tmp_path: Path) -> None:
    async with hosted(tmp_path) as many:
        for name in ("one", "two"):
            await many.start(name)
            await many.until(name, Up)
        await many.host.ask(AgentPrompt("one", "1", "wait:"))
        await many.until("one", PromptTaken)
        await many.host.ask(Kill("one", 9))
        await many.until("one", Ended)
        await many.host.ask(AgentPrompt("two", "1", "say: alive"))
        await many.until("two", TurnOver)
        last = {name: events[-1] for name, events in many.events.items()}

    assert last["one"] == Ended("failed", "Claude Code was killed by SIGKILL.")
    assert last["two"] == TurnOver("alive")
    killed = [each for each in psutil.process_iter() if _is_left(each, tmp_path)]
    assert psutil.wait_procs(killed, timeout=SOON)[1] == []


@pytest.mark.spec("A4")
@pytest.mark.parametrize("ending", [Close("it"), Kill("it", 15), Kill("it", 9)])
async def test_a_process_that_left_the_session_of_its_agent_ends_with_it(
    tmp_path: Path, ending: Close | Kill
) -> None:
    async with hosted(tmp_path) as many:
        await many.start("it")
        await many.until("it", Up)
        await many.host.ask(AgentPrompt("it", "1", "detach: 1000"))
        await many.until("it", TurnOver)
        (pid,) = (int(each.text) for each in many.events["it"] if isinstance(each, TextAdded))
        assert Process.of(pid)

        await many.host.ask(ending)
        await many.until("it", Ended)

        async with asyncio.timeout(SOON):
            while Process.of(pid):
                await asyncio.wait([asyncio.ensure_future(many.host.ask(List()))])


@pytest.mark.spec("K4")
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process")
async def test_a_turn_goes_on_while_the_event_file_cannot_be_written(tmp_path: Path) -> None:
    """A limit of its files' size stands for a full disk: the last line is cut in the middle."""
    async with hosted(tmp_path) as many:
        await many.start("it")
        await many.until("it", Up)
        host = read_process(tmp_path / "pid")
        assert host
        size = path_of(tmp_path / "events", "it").stat().st_size
        resource.prlimit(host.pid, resource.RLIMIT_FSIZE, (size + 30, resource.RLIM_INFINITY))
        asking = asyncio.ensure_future(many.host.ask(AgentPrompt("it", "1", "say: hello")))
        async with asyncio.timeout(SOON):
            while path_of(tmp_path / "events", "it").stat().st_size < size + 30:
                await asyncio.wait([asking], timeout=0.05)
        assert not many.count("it", PromptTaken)

        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(host.pid, resource.RLIMIT_FSIZE, unlimited)

        await asking
        await many.until("it", TurnOver)

    of_turn = (PromptTaken, TextAdded, TurnOver)
    assert [each for each in many.events["it"] if isinstance(each, of_turn)] == [
        PromptTaken("say: hello"),
        TextAdded("hello"),
        TurnOver("hello"),
    ]


def _is_left(process: psutil.Process, folder: Path) -> bool:
    """Return whether a process belongs to the test."""
    try:
        return process.cwd() == str(folder)
    except psutil.Error:
        return False
