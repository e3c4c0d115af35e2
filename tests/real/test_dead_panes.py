"""Programs that ended while no daemon ran: tmux keeps their panes, with their pids."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.demo import DEMO
from rookery.model.facts import SessionId
from rookery.ports.runtime import StopMethod
from rookery.ports.sightings import Exited
from rookery.processes import Process
from tests.support.contract.runtimes import ending, launch_of, started
from tests.support.contract.tmux import holding, site_in

pytestmark = [pytest.mark.real, pytest.mark.anyio, pytest.mark.spec("B0", "E6")]

ONE = SessionId("11111111-one")


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


async def test_a_process_with_the_pid_of_a_dead_pane_gets_no_signal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    class Reused:
        """The pid of the pane's program belongs to another process by now."""

        @staticmethod
        def of(pid: int) -> Process | None:
            return Process.of(stranger.pid)

    launch = replace(launch_of(ONE, tmp_path), argv=("sh", "-c", "exit 3"))
    with site_in(tmp_path) as site:
        async with holding(site) as runtime:
            program = await runtime.start(launch)
            await ending(runtime)

        monkeypatch.setattr("rookery.runtimes.tmux.panes.Process", Reused)
        async with holding(site) as runtime:
            await runtime.adopt(ONE, DEMO, program.handle)
            await runtime.stop(ONE, StopMethod.KILL)
            ended = await ending(runtime)

    assert isinstance(ended, Exited)
    assert ended.code == 3
    assert stranger.poll() is None


async def test_a_pane_that_a_person_split_off_is_not_taken_for_the_agent(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path) as site:
        async with holding(site) as runtime:
            program = await started(runtime, ONE, tmp_path)
        address = program.address
        assert address

        def tmux(*words: str) -> str:
            command = [site.tmux, "-S", str(site.socket), *words]
            return subprocess.check_output(command, text=True)

        theirs = tmux("split-window", "-dPF", "#{pane_id}", "-t", address.tmux_pane, "cat")
        tmux("kill-pane", "-t", address.tmux_pane)

        async with holding(site) as runtime:
            assert await runtime.find() == {}
            await runtime.release(ONE)
        assert theirs in tmux("list-panes", "-a", "-F", "#{pane_id}")
