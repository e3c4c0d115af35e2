"""Events of a driven session while its event file cannot be written."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from rookery.clock import WallClock
from rookery.drivers import event_store
from rookery.drivers.commands import AgentAnswer, AgentPrompt, Close, List, Start
from rookery.drivers.event_file import EventReader, EventWriter, path_of
from rookery.drivers.events import (
    Asked,
    Ended,
    Event,
    PromptTaken,
    TextAdded,
    TurnOver,
    Up,
)
from rookery.model.errors import RuntimeFailed
from rookery.runtimes.driven.host_connection import HostConnection
from tests.support.scripted_driver import NAME, ScriptedDriver, hosting, site_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K4")]

SOON = 20.0


class Disk:
    """A disk with room for so many more bytes, or for any number."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.refusals = 1  #: how often it refuses before ``has_refused`` is set
        self.has_refused = asyncio.Event()
        self._write: Callable[[int, bytes], int] = os.write

    def write(self, file: int, data: bytes) -> int:
        if self.room is None:
            return self._write(file, data)
        if not self.room:
            self.refusals -= 1
            if self.refusals <= 0:
                self.has_refused.set()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(file, bytes(data[: self.room]))
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.setattr(event_store, "RETRY_SECONDS", 0.01)
    disk = Disk()
    monkeypatch.setattr(os, "write", disk.write)
    return disk


@pytest.mark.parametrize("room", [0, 1, 40, 99])
def test_a_line_that_was_written_in_part_is_completed(
    tmp_path: Path, disk: Disk, room: int
) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    assert writer.append(Up("it"))
    disk.room = room
    assert not writer.append(TextAdded("one" * 50))
    assert not writer.append(TextAdded("two"))
    assert [each.event for each in reader.read()] == [Up("it")]
    assert writer.problem == "No space left on device"

    disk.room = None
    assert writer.flush()

    entries = [(each.number, each.event) for each in reader.read()]
    assert entries == [(2, TextAdded("one" * 50)), (3, TextAdded("two"))]
    assert not writer.problem


class Hosted:
    """A session in a host, and what its event file says."""

    def __init__(self, folder: Path) -> None:
        self.site, self._grown = site_in(folder), asyncio.Event()
        self.host = HostConnection(
            self.site, WallClock(), grown=lambda _: self._grown.set(), lost=self._grown.set
        )
        self._reader = EventReader(path_of(self.site.events, "it"))
        self.events: list[Event] = []

    async def until(self, event: type[Event]) -> list[Event]:
        """Wait for an event of this kind, and return all events so far."""
        with anyio.fail_after(SOON):
            while True:
                self._grown.clear()
                self.events += [each.event for each in self._reader.read()]
                if any(isinstance(each, event) for each in self.events):
                    return self.events
                await self._grown.wait()

    async def prompt(self, text: str) -> None:
        await self.host.ask(AgentPrompt("it", text, text))


@asynccontextmanager
async def hosted(folder: Path) -> AsyncIterator[Hosted]:
    ScriptedDriver.heard.clear()
    hosted = Hosted(folder)
    async with hosting(hosted.site):
        await hosted.host.ask(Start("it", NAME, (), {}, str(folder), {}))
        await hosted.until(Up)
        try:
            yield hosted
        finally:
            await hosted.host.close()


async def test_a_turn_on_a_full_disk_is_reported_in_order_once_there_is_room(
    tmp_path: Path, disk: Disk
) -> None:
    async with hosted(tmp_path) as it:
        disk.room = 30
        prompting = asyncio.ensure_future(it.prompt("say: one\nsay: two"))
        with anyio.fail_after(SOON):
            await disk.has_refused.wait()
        repeated = asyncio.ensure_future(it.prompt("say: one\nsay: two"))
        assert (await it.host.ask(List())).sessions == ("it",)
        assert not [each for each in (prompting, repeated) if each.done()]

        disk.room = None

        _, *events = await it.until(TurnOver)
        await asyncio.gather(prompting, repeated)
        said = [TextAdded("one"), TextAdded("two"), TurnOver("two")]
        assert events == [PromptTaken("say: one\nsay: two"), *said]
        assert ScriptedDriver.heard == ["say: one\nsay: two"]


async def test_a_prompt_is_refused_while_events_cannot_be_stored(
    tmp_path: Path, disk: Disk
) -> None:
    async with hosted(tmp_path) as it:
        await it.prompt("run: ls\nsay: done")
        asked = next(each for each in await it.until(Asked) if isinstance(each, Asked))
        disk.room = 0
        await it.host.ask(AgentAnswer("it", asked.request, allow=True))
        with anyio.fail_after(SOON):
            await disk.has_refused.wait()

        with pytest.raises(RuntimeFailed, match="cannot be stored: No space left on device"):
            await it.prompt("say: more")

        disk.room = None
        await it.until(TurnOver)
        await it.prompt("say: more")
        assert ScriptedDriver.heard == ["run: ls\nsay: done", "say: more"]


async def test_the_end_of_a_session_is_reported_once_there_is_room(
    tmp_path: Path, disk: Disk
) -> None:
    async with hosted(tmp_path) as it:
        disk.room = 0
        await it.host.ask(Close("it"))
        with anyio.fail_after(SOON):
            await disk.has_refused.wait()
        assert (await it.host.ask(List())).sessions == ("it",)

        disk.room = None

        assert (await it.until(Ended))[-1] == Ended("completed", "it was closed")


async def test_a_session_fails_with_the_reason_if_too_much_waits_for_the_disk(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_store, "MAX_KEPT_BYTES", 3_000)
    async with hosted(tmp_path) as it:
        disk.room, disk.refusals = 0, 9
        lines = "\n".join(f"say: {number}" for number in range(100))
        prompting = asyncio.ensure_future(it.prompt(f"{lines}\nwait"))
        with anyio.fail_after(SOON):
            await disk.has_refused.wait()
        disk.room = None

        events = await it.until(Ended)
        await prompting

    reason = "what it did could not be stored: No space left on device"
    assert events[-1] == Ended("failed", reason)
    said = [each.text for each in events if isinstance(each, TextAdded)]
    assert said == [str(number) for number in range(len(said))]
    assert len(said) < 100
