"""What a driver host that was killed leaves behind is removed with its sessions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.drivers.event_file import EventWriter, path_of
from rookery.drivers.events import ProcessesNoted, ProcessStarted, Up
from rookery.model.facts import SessionId
from rookery.ports.runtime import RuntimeHandle
from rookery.processes import Process
from rookery.runtimes.driven.runtime import NAME, DrivenRuntime
from tests.support.scripted_driver import site_in

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SESSION = SessionId("11111111-1111-4111-8111-111111111111")


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    """Give a program that does not end by itself."""
    with subprocess.Popen(["sleep", "1000"]) as program:
        yield program
        program.kill()


@pytest.mark.spec("A7")
async def test_an_agent_that_outlives_its_host_is_killed_when_its_session_is_released(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    site = site_in(tmp_path)
    site.events.mkdir()
    events = EventWriter(path_of(site.events, SESSION))
    for event in (ProcessStarted(agent.pid), Up("native")):
        events.append(event)
    events.close()
    runtime = DrivenRuntime(site, WallClock())
    await runtime.adopt(SESSION, DEMO, RuntimeHandle(NAME, SESSION))

    await runtime.release(SESSION)

    assert await anyio.to_thread.run_sync(agent.wait, 10) == -9
    assert not list(site.events.iterdir())


@pytest.mark.spec("A7")
async def test_a_command_of_an_agent_that_ended_with_its_host_is_killed_too(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    site = site_in(tmp_path)
    site.events.mkdir()
    command = Process.of(agent.pid)
    assert command
    events = EventWriter(path_of(site.events, SESSION))
    for event in (
        *(ProcessStarted(agent.pid, f"{agent.pid}:1"), Up("native")),
        ProcessesNoted((f"{agent.pid}:2", command.key)),
    ):
        events.append(event)
    events.close()
    runtime = DrivenRuntime(site, WallClock())
    await runtime.adopt(SESSION, DEMO, RuntimeHandle(NAME, SESSION))

    await runtime.release(SESSION)

    assert await anyio.to_thread.run_sync(agent.wait, 10) == -9


@pytest.mark.spec("A7")
async def test_a_process_that_has_the_pid_of_an_ended_agent_is_not_killed(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    site = site_in(tmp_path)
    site.events.mkdir()
    events = EventWriter(path_of(site.events, SESSION))
    for event in (ProcessStarted(agent.pid, f"{agent.pid}:1"), Up("native")):
        events.append(event)
    events.close()
    runtime = DrivenRuntime(site, WallClock())
    await runtime.adopt(SESSION, DEMO, RuntimeHandle(NAME, SESSION))

    await runtime.release(SESSION)

    assert agent.poll() is None
