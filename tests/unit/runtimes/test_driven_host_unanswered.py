"""A driver host that does not answer is no host that has ended: its sessions stay."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.drivers import host
from rookery.drivers.commands import List, Start
from rookery.drivers.event_file import EventWriter, path_of
from rookery.drivers.events import Ended, Up
from rookery.drivers.host_files import HostFiles
from rookery.model.errors import RuntimeFailed, RuntimeUnreachable
from rookery.model.facts import SessionId
from rookery.ports.runtime import RuntimeHandle
from rookery.ports.sightings import Finished, ReportedTogether, Sighting
from rookery.processes import Process
from rookery.runtimes.driven import host_connection, runtime
from rookery.runtimes.driven.host_connection import HostConnection, HostGone
from rookery.runtimes.driven.host_process import HostSite, is_listening
from rookery.runtimes.driven.runtime import NAME, DrivenRuntime
from tests.support.scripted_driver import NAME as SCRIPTED
from tests.support.scripted_driver import hosting, site_in

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SESSION = SessionId("11111111-1111-4111-8111-111111111111")

SOON = 20.0


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostSite:
    monkeypatch.setattr(runtime, "CHECK_INTERVAL_SECONDS", 0.02)
    monkeypatch.setattr(host_connection, "COMMAND_TIMEOUT_SECONDS", 0.1)
    site = site_in(tmp_path)
    site.events.mkdir()
    return site


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that runs until it is killed."""
    with subprocess.Popen(["sleep", "1000"]) as program:
        yield program
        program.kill()


@asynccontextmanager
async def suspended(site: HostSite) -> AsyncIterator[asyncio.Queue[bytes]]:
    """Listen as a host that answers nothing, and give what it was asked."""
    asked = asyncio.Queue[bytes]()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            await asked.put(line)
        writer.close()

    files = HostFiles(site.socket, site.key, site.record)
    files.write("secret")
    async with await asyncio.start_unix_server(listen, site.socket):
        yield asked
    files.remove_record()


def unconnected(site: HostSite) -> HostConnection:
    return HostConnection(site, WallClock(), grown=lambda _: None, lost=lambda: None)


def write_events(site: HostSite, *events: Up | Ended) -> None:
    writer = EventWriter(path_of(site.events, SESSION))
    for each in events:
        writer.append(each)
    writer.close()


@asynccontextmanager
async def followed(
    site: HostSite,
) -> AsyncIterator[tuple[DrivenRuntime, asyncio.Queue[Sighting]]]:
    """Follow the session, and give the runtime and what it sees."""
    driven, seen = DrivenRuntime(site, WallClock()), asyncio.Queue[Sighting]()

    async def watch() -> None:
        async for each in driven.watch():
            await seen.put(each)

    async with anyio.create_task_group() as tasks:
        await driven.adopt(SESSION, DEMO, RuntimeHandle(NAME, SESSION))
        tasks.start_soon(watch)
        tasks.start_soon(driven.keep)
        yield driven, seen
        tasks.cancel_scope.cancel()


async def until_finished(seen: asyncio.Queue[Sighting]) -> Finished:
    with anyio.fail_after(SOON):
        while not isinstance(sighting := await seen.get(), Finished):
            pass
    return sighting


async def until_asked(asked: asyncio.Queue[bytes], times: int) -> None:
    with anyio.fail_after(SOON):
        for _ in range(times):
            await asked.get()


@pytest.mark.spec("A7")
async def test_a_host_that_does_not_answer_loses_no_session(site: HostSite) -> None:
    write_events(site, Up("native"))
    async with suspended(site) as asked, followed(site) as (driven, seen):
        await until_asked(asked, times=3)

        assert driven.trouble == "the driver host does not answer."
        assert driven.holds(SESSION)
        assert isinstance(await seen.get(), ReportedTogether)
        assert seen.empty()


@pytest.mark.spec("A7")
async def test_a_session_is_lost_once_the_process_of_its_host_is_gone(
    site: HostSite, program: subprocess.Popen[bytes]
) -> None:
    write_events(site, Up("native"))
    process = Process.of(program.pid)
    assert process
    site.record.write_text(process.key)
    site.socket.touch()
    async with followed(site) as (driven, seen):
        with pytest.raises(RuntimeUnreachable, match=f"pid {process.pid}.* does not listen"):
            await driven.interrupt(SESSION)
        assert isinstance(await seen.get(), ReportedTogether)
        assert seen.empty()

        program.kill()

        lost = Finished(SESSION, "failed", "its driver host ended", lost=True)
        assert await until_finished(seen) == lost
        assert not driven.trouble


@pytest.mark.spec("A7")
async def test_a_session_that_its_host_does_not_list_twice_is_lost(site: HostSite) -> None:
    write_events(site, Up("native"))
    async with hosting(site), followed(site) as (_, seen):
        reason = "its driver host does not have it any more"
        assert await until_finished(seen) == Finished(SESSION, "failed", reason, lost=True)


@pytest.mark.spec("A7")
async def test_the_last_event_of_a_session_says_how_it_ended(site: HostSite) -> None:
    write_events(site, Up("native"), Ended("completed", "it was closed"))
    async with hosting(site), followed(site) as (_, seen):
        assert await until_finished(seen) == Finished(SESSION, "completed", "it was closed")


@pytest.mark.spec("A7")
async def test_a_release_waits_for_a_host_that_does_not_answer(site: HostSite) -> None:
    write_events(site, Up("native"))
    async with suspended(site), followed(site) as (driven, _):
        with pytest.raises(RuntimeUnreachable):
            await driven.release(SESSION)
        assert driven.holds(SESSION)
    assert path_of(site.events, SESSION).exists()


@pytest.mark.spec("A7")
async def test_no_second_host_is_started_while_the_first_one_runs(site: HostSite) -> None:
    async with suspended(site):
        site.socket.unlink()
        connection = unconnected(site)
        with pytest.raises(RuntimeUnreachable, match="runs, but does not listen"):
            await connection.ask(Start("it", SCRIPTED, (), {}, "/", {}), may_start=True)
    with pytest.raises(HostGone):
        await connection.ask(List())


@pytest.mark.spec("K4")
async def test_a_wrong_or_missing_key_is_reported_at_once(site: HostSite) -> None:
    async with hosting(site):
        connection = unconnected(site)
        site.key.unlink()
        with pytest.raises(RuntimeUnreachable, match="the key of the driver host is gone"):
            await connection.ask(List())
        site.key.write_text("another")
        with pytest.raises(RuntimeFailed, match="is not the one of the driver host"):
            await connection.ask(List())
        await connection.close()


@pytest.mark.spec("A7", "K4")
async def test_a_host_restores_the_files_by_which_it_is_found(
    site: HostSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "FILES_CHECK_SECONDS", 0.02)
    async with hosting(site):
        connection = unconnected(site)
        before = [each.read_bytes() for each in (site.key, site.record)]
        for each in (site.socket, site.key, site.record):
            each.unlink()
        with anyio.fail_after(SOON):
            while not (is_listening(site) and site.record.exists()):
                await anyio.lowlevel.checkpoint()

        assert [each.read_bytes() for each in (site.key, site.record)] == before
        assert [each.stat().st_mode & 0o777 for each in (site.key, site.record)] == [0o600] * 2
        assert (await connection.ask(List())).sessions == ()
        await connection.close()
