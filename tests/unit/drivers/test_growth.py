"""When the driver host tells the daemon that event files have grown."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from rookery.clock import WallClock
from rookery.drivers import host
from rookery.drivers.commands import AgentPrompt, Start
from rookery.drivers.event_file import EventReader, path_of
from rookery.drivers.events import TurnOver
from rookery.runtimes.driven.host_connection import HostConnection
from tests.support.scripted_driver import NAME, hosting, site_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G4")]


async def test_the_first_growth_is_told_at_once_and_what_follows_within_the_pause_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "GROWTH_PAUSE_SECONDS", 30.0)
    site, told, is_told = site_in(tmp_path), [], anyio.Event()

    def note(session: str) -> None:
        told.append(session)
        is_told.set()

    async with hosting(site):
        connection = HostConnection(site, WallClock(), grown=note, lost=lambda: None)
        await connection.ask(Start("it", NAME, (), {}, str(tmp_path), {}))
        with anyio.fail_after(20):
            await is_told.wait()
        events = EventReader(path_of(site.events, "it"))
        turns = 0
        for number in range(3):
            await connection.ask(AgentPrompt("it", str(number), "say: hello"))
        with anyio.fail_after(20):
            while turns < 3:
                turns += sum(isinstance(each.event, TurnOver) for each in events.read())
                await anyio.lowlevel.checkpoint()
        await connection.close()

    assert told == ["it"]
