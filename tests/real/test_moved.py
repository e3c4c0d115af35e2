"""A person renames, moves or hides what an agent runs in: it is followed, and never harmed."""

from __future__ import annotations

import asyncio
import os
import pty
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.agents.demo import DEMO
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.ports.deliveries import Blocked, Unknown
from rookery.ports.runtime import SurvivingProcess
from rookery.ports.sightings import Exited, Vanished
from rookery.processes import Process, is_running
from tests.support.contract.runtimes import SOON, TmuxBench, started
from tests.support.contract.tmux import site_in
from tests.support.fakes.delivery_log import FakeLog
from tests.support.real.panes import pane_pid
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


def rename(rookery: Rookery, session: str) -> None:
    rookery.tmux("rename-session", "-t", f"={session}", "my work")


def move(rookery: Rookery, session: str) -> None:
    rookery.tmux("new-session", "-d", "-s", "mine", "cat")
    rookery.tmux("move-window", "-s", f"={session}:0", "-t", "=mine:")


def move_into_hub(rookery: Rookery, session: str) -> None:
    rookery.tmux("move-window", "-s", f"={session}:0", "-t", "=rookery:")


@pytest.mark.spec("A6", "A7", "B1")
@pytest.mark.parametrize("harm", [rename, move, move_into_hub])
def test_an_agent_whose_tmux_session_was_renamed_or_moved_lives_on(
    rookery: Rookery, harm: object
) -> None:
    assert callable(harm)
    rookery.start("one")
    program = Process.of(pane_pid(rookery, "one"))
    assert program

    harm(rookery, rookery.session("one")["tmux_session"])
    rookery.start("two")  # which makes the runtime look at all panes
    rookery.client.post("sessions", "two", "end")
    rookery.ended("two")
    before = rookery.ask("one", "say: followed")
    rookery.kill()
    rookery.up()
    after = rookery.ask("one", "say: found again")

    assert (before, after) == ("followed", "found again")
    assert is_running(program)
    rookery.client.post("sessions", "one", "end")
    assert rookery.ended("one")["status"] in {"completed", "killed"}
    assert not is_running(program)


@pytest.mark.spec("A7", "K4")
def test_sessions_start_though_a_person_renamed_the_hub(rookery: Rookery) -> None:
    rookery.start("one")
    rookery.tmux("rename-session", "-t", "=rookery", "what is this")

    rookery.start("two")

    assert rookery.ask("two", "say: here") == "here"
    assert rookery.ask("one", "say: and here") == "and here"
    rookery.kill()
    rookery.up()
    assert rookery.ask("one", "say: still") == "still"


@pytest.mark.spec("A7")
def test_a_renamed_session_can_be_attached_to(rookery: Rookery) -> None:
    session = rookery.start("one")
    rename(rookery, session["tmux_session"])
    shown = "#{client_control_mode} #{session_name}"

    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**rookery.environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        words = [sys.executable, "-m", "rookery", "attach", "one"]
        os.execvpe(sys.executable, words, environment)  # noqa: S606 - no shell
    eventually(lambda: "0 my work" in rookery.tmux("list-clients", "-F", shown))

    rookery.tmux("detach-client", "-s", "my work")
    os.waitpid(pid, 0)
    os.close(terminal)


@pytest.mark.spec("A7", "K4")
@pytest.mark.parametrize("whole_folder", [False, True])
def test_agents_are_found_again_though_the_socket_of_tmux_was_deleted(
    rookery: Rookery, *, whole_folder: bool
) -> None:
    rookery.start("one")
    server = rookery.tmux("display-message", "-p", "#{pid}").strip()
    rookery.kill()
    if whole_folder:
        shutil.rmtree(rookery.home.run)
    else:
        rookery.home.tmux.unlink()

    rookery.up()

    assert rookery.session("one")["status"] == "running"
    assert rookery.ask("one", "say: still here") == "still here"
    assert rookery.tmux("display-message", "-p", "#{pid}").strip() == server


@pytest.mark.spec("K4")
def test_the_daemon_survives_a_lost_line_while_its_run_folder_is_gone(
    rookery: Rookery,
) -> None:
    rookery.start("one")
    clients = rookery.tmux("list-clients", "-F", "#{client_control_mode} #{client_pid}")
    lines = [int(each.split()[1]) for each in clients.splitlines() if each.startswith("1 ")]
    shutil.rmtree(rookery.home.run)

    for each in lines:
        with suppress(ProcessLookupError):  # the daemon was faster
            os.kill(each, signal.SIGKILL)

    def has_both_lines() -> bool:
        return rookery.tmux("list-clients", "-F", "#{client_control_mode}").count("1") == 2

    eventually(has_both_lines)
    os.kill(rookery.pid, 0)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[TmuxBench]:
    with site_in(tmp_path) as site:
        async with AsyncExitStack() as lives:
            bench = TmuxBench(site, lives)
            await bench.begin_life()
            yield bench


async def end_of(bench: TmuxBench, session: SessionId) -> Exited | Vanished:
    with anyio.fail_after(SOON):
        async for sighting in bench.runtime.watch():
            if isinstance(sighting, Exited | Vanished) and sighting.session == session:
                return sighting
    raise AssertionError


async def is_replaced(bench: TmuxBench, server: int) -> None:
    """Wait until the runtime has a new tmux server."""
    with anyio.fail_after(SOON):
        while bench.runtime.server.pid == server:
            with suppress(RuntimeFailed):
                await bench.runtime.find()
            await checkpoint()


@pytest.mark.anyio
@pytest.mark.spec("A6")
async def test_a_pane_that_got_the_id_of_a_lost_one_is_not_killed_in_its_place(
    bench: TmuxBench, tmp_path: Path
) -> None:
    old, new = SessionId("11111111-old"), SessionId("22222222-new")
    lost = await started(bench.runtime, old, tmp_path)
    server = bench.runtime.server.pid
    os.kill(server, signal.SIGKILL)
    gone = await end_of(bench, old)
    await is_replaced(bench, server)
    held = await started(bench.runtime, new, tmp_path)
    program = Process.of(await bench.pid_of(new))
    assert program

    await bench.runtime.release(old)

    assert isinstance(gone, Vanished)
    assert held.address
    assert lost.address
    assert (
        held.address.tmux_pane == lost.address.tmux_pane
    )  # a new server counts from the beginning
    assert is_running(program)
    assert "rk_22222222" in await bench.runtime.find()


@pytest.mark.anyio
@pytest.mark.spec("A6", "E6")
async def test_messages_to_a_program_whose_pane_is_gone_wait_and_say_why(
    bench: TmuxBench,
) -> None:
    session = SessionId("11111111-one")
    program = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        process = Process.of(program.pid)
        assert process
        await bench.runtime.adopt(session, DEMO, SurvivingProcess(process.key))
        parcel = Parcel(1, session, "Words.", Step.SENDING, datetime.now(UTC))

        waits = await bench.runtime.deliver(parcel, FakeLog(), is_new=True)
        typed = replace(parcel, step=Step.PASTED)
        lost = await bench.runtime.deliver(typed, FakeLog(), is_new=False)
    finally:
        program.kill()
        await program.wait()

    assert isinstance(waits, Blocked)
    assert waits.obstacle
    assert waits.obstacle.code == "no-pane"
    assert lost == Unknown()


@pytest.mark.anyio
@pytest.mark.spec("A6")
async def test_a_dead_tmux_server_is_noticed_without_a_new_one(tmp_path: Path) -> None:
    link = tmp_path / "tmux"
    link.symlink_to(str(shutil.which("tmux")))
    session = SessionId("11111111-one")
    with site_in(tmp_path) as site:
        async with AsyncExitStack() as lives:
            bench = TmuxBench(replace(site, tmux=str(link)), lives)
            await bench.begin_life()
            await started(bench.runtime, session, tmp_path)
            link.unlink()

            os.kill(bench.runtime.server.pid, signal.SIGKILL)

            assert await end_of(bench, session) == Vanished(session)
