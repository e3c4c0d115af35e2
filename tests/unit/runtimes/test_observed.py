"""The runtime for panes that are not ours, as far as it needs no tmux. See also tests/real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from rookery.agents.demo import DEMO
from rookery.model.errors import Occupied, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason
from rookery.ports.deliveries import Blocked
from rookery.ports.runtime import Launch, StopMethod
from rookery.ports.sightings import Vanished
from rookery.processes import Kernel, Process, ancestors, is_running
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.places import Place
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.delivery_log import FakeLog
from tests.support.fakes.processes import FakeTable
from tests.support.real.rookery import eventually

pytestmark = pytest.mark.anyio

IT = SessionId("it")


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as program:
        yield program
        program.kill()


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """Give a shell that has started an agent, with a child of its own, and something else."""
    script = "sh -c 'sleep 60; true' & echo $!; sleep 60 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as shell:
        yield shell
        for each in psutil.Process(shell.pid).children(recursive=True):
            each.kill()
        shell.kill()


@pytest.fixture
async def runtime(tmp_path: Path, clock: FakeClock) -> AsyncIterator[ObservedRuntime]:
    runtime = ObservedRuntime("tmux", tmp_path, clock, Kernel(), typing=2.0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.keep)
        yield runtime
        tasks.cancel_scope.cancel()


def attach(runtime: ObservedRuntime, folder: Path, process: Process) -> None:
    socket = str(folder / "none.sock")
    runtime.attach(IT, DEMO, server=socket, pane="%1", process=process.key)


def hold(runtime: ObservedRuntime, folder: Path, pid: int) -> None:
    process = Process.of(pid)
    assert process
    attach(runtime, folder, process)


async def end_of(runtime: ObservedRuntime) -> object:
    with anyio.fail_after(5):
        return await anext(runtime.watch())


@pytest.mark.spec("A6", "B6")
async def test_an_end_is_told_at_once(
    runtime: ObservedRuntime, program: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    hold(runtime, tmp_path, program.pid)

    program.kill()

    assert await end_of(runtime) == Vanished(IT)
    assert not runtime.holds(IT)


@pytest.mark.spec("A6", "B6")
async def test_what_has_ended_before_is_told_too(
    runtime: ObservedRuntime, tmp_path: Path
) -> None:
    process = Process(os.getpid(), "another time")

    attach(runtime, tmp_path, process)

    assert await end_of(runtime) == Vanished(IT)


async def test_what_was_let_go_of_is_watched_no_more(
    runtime: ObservedRuntime, program: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    hold(runtime, tmp_path, program.pid)
    hold(runtime, tmp_path, program.pid)

    await runtime.release(IT)

    assert runtime.held() == frozenset()
    with pytest.raises(RuntimeFailed, match="no pane is known"):
        await runtime.terminal(IT).read()


@pytest.mark.spec("K5")
async def test_whom_an_agent_starts_is_that_agent(
    runtime: ObservedRuntime, program: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    hold(runtime, tmp_path, program.pid)

    started = [each.key for each in ancestors(program.pid)]
    ours = [each.key for each in ancestors(os.getpid())]

    assert runtime.holder_of(started) == IT
    assert runtime.holder_of(ours) is None


@pytest.mark.spec("B7")
async def test_nothing_is_started_adopted_or_asked_to_leave(
    runtime: ObservedRuntime, program: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    hold(runtime, tmp_path, program.pid)
    launch = Launch(IT, DEMO, ("demo",), {}, tmp_path)

    with pytest.raises(RuntimeFailed):
        await runtime.start(launch)
    with pytest.raises(RuntimeFailed):
        await runtime.adopt(IT, DEMO, Place("own", "%1", 1).program.handle)
    with pytest.raises(RuntimeFailed):
        await runtime.stop(IT, StopMethod.ASK)

    assert await runtime.find() == {}
    assert program.poll() is None


@pytest.mark.spec("B7")
async def test_a_signal_reaches_the_agent_and_what_it_started_and_nobody_else(
    runtime: ObservedRuntime, family: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert family.stdout
    child, beside = (Process.of(int(family.stdout.readline())) for _ in range(2))
    assert child
    assert beside
    hold(runtime, tmp_path, child.pid)
    eventually(lambda: Kernel().children(child.pid))
    (below,) = Kernel().children(child.pid)

    await runtime.stop(IT, StopMethod.KILL)

    assert await end_of(runtime) == Vanished(IT)
    assert not psutil.pid_exists(below) or psutil.Process(below).status() == "zombie"
    assert is_running(beside)


@pytest.mark.spec("B0")
@pytest.mark.parametrize(
    ("is_in_front", "why", "what_to_do"),
    [(False, BlockedReason.BACKGROUND, "type `fg`"), (None, BlockedReason.ENDED, "")],
    ids=["put into the background", "has ended"],
)
async def test_nothing_is_typed_where_keys_would_reach_a_shell(
    tmp_path: Path,
    clock: FakeClock,
    is_in_front: bool | None,
    why: BlockedReason,
    what_to_do: str,
) -> None:
    table = FakeTable()
    runtime = ObservedRuntime("tmux", tmp_path, clock, table, typing=2.0)
    process = table.run(2**22 + 1, "demo", is_in_front=bool(is_in_front))
    attach(runtime, tmp_path, process)
    if is_in_front is None:
        table.end(process.pid)
    parcel = Parcel(1, IT, "rm -rf /", Step.SENDING, clock.now())

    blocked = await runtime.deliver(parcel, FakeLog(), is_new=True)

    assert isinstance(blocked, Blocked)
    assert blocked.obstacle
    assert blocked.obstacle.code is why
    assert what_to_do in blocked.obstacle.detail
    with pytest.raises(Occupied) as refused:
        await runtime.terminal(IT).press("enter")
    assert refused.value.obstacle == blocked.obstacle
