"""A session whose host ends before its agent is up is started again, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.model.errors import RuntimeUnreachable
from rookery.model.facts import SessionId
from rookery.ports.runtime import DriverOptions, Launch
from rookery.ports.sightings import Finished
from rookery.runtimes.driven import host_process, runtime
from rookery.runtimes.driven.host_process import HostSite
from rookery.runtimes.driven.runtime import DrivenRuntime
from tests.support.scripted_driver import NAME, hosting, site_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A3", "K3")]

SESSION = SessionId("11111111-1111-4111-8111-111111111111")

SOON = 20.0


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostSite:
    monkeypatch.setattr(runtime, "CHECK_INTERVAL_SECONDS", 0.02)
    return site_in(tmp_path)


@asynccontextmanager
async def kept(driven: DrivenRuntime) -> AsyncIterator[None]:
    keeping = asyncio.ensure_future(driven.keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])


async def start(driven: DrivenRuntime, site: HostSite, **options: bool) -> None:
    launch = Launch(SESSION, DEMO, (), {}, site.socket.parent, DriverOptions(NAME, options))
    await driven.start(launch)


async def until_lost(driven: DrivenRuntime) -> Finished:
    with anyio.fail_after(SOON):
        async for each in driven.watch():
            if isinstance(each, Finished):
                return each
    raise AssertionError


async def test_a_host_that_ends_while_it_starts_is_not_waited_for(
    site: HostSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_process, "_MODULE", "this")  # a module that prints and ends

    with pytest.raises(RuntimeUnreachable, match="ended while it started"):
        await start(DrivenRuntime(site, WallClock()), site)


async def test_a_session_that_was_not_up_is_started_again_once(site: HostSite) -> None:
    driven = DrivenRuntime(site, WallClock())
    async with hosting(site):
        await start(driven, site, hang=True)
    async with kept(driven):
        async with hosting(site):
            with anyio.fail_after(SOON):
                while SESSION not in await driven.sessions.list_sessions():
                    pass
        async with hosting(site):
            assert (await until_lost(driven)).lost


async def test_a_session_that_was_up_is_lost(site: HostSite) -> None:
    driven = DrivenRuntime(site, WallClock())
    async with hosting(site):
        await start(driven, site)
    async with hosting(site), kept(driven):
        assert (await until_lost(driven)).lost
