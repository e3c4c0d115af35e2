"""How every runtime takes words, keys and ends: with a terminal or without, ours or not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from rookery.agents import demo
from rookery.clock import WallClock
from rookery.model.errors import NoTerminal, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.sessions import PaneRef
from rookery.ports.runtime import (
    Blocked,
    Exited,
    LeftInput,
    Runtime,
    StopMethod,
    Submitted,
    Unknown,
    Vanished,
)
from rookery.processes import Kernel, Process
from rookery.runtimes.router import RuntimeRouter
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.server import ServerSite
from tests.support.contract.runtimes import DEMO, SOON, launch_of, seen, started
from tests.support.contract.tmux import holding, site_in
from tests.support.fakes.delivery_log import FakeLog
from tests.support.fakes.runtime import FakeRuntime
from tests.support.fakes.stream_runtime import StreamRuntime

pytestmark = pytest.mark.anyio

WORDS = "say: hello"


@dataclass(frozen=True)
class Subject:
    """A runtime that holds one session with the demo agent."""

    runtime: Runtime
    session: SessionId
    has_terminal: bool = True

    def parcel(self, step: Step = Step.SENDING) -> Parcel:
        return Parcel(1, self.session, WORDS, step, datetime.now(UTC))

    async def box(self) -> str | None:
        return (await self.runtime.terminal(self.session).view()).box


def new_session() -> SessionId:
    return SessionId(str(uuid4()))


@asynccontextmanager
async def fake(folder: Path) -> AsyncIterator[Subject]:
    runtime, session = FakeRuntime(), new_session()
    await started(runtime, session, folder)
    yield Subject(runtime, session)


@asynccontextmanager
async def stream(folder: Path) -> AsyncIterator[Subject]:
    runtime, session = StreamRuntime(), new_session()
    await runtime.start(launch_of(session, folder))
    yield Subject(runtime, session, has_terminal=False)


@asynccontextmanager
async def tmux(folder: Path) -> AsyncIterator[Subject]:
    with site_in(folder) as site:
        async with holding(site) as runtime:
            session = new_session()
            await started(runtime, session, folder)
            yield Subject(runtime, session)


def start_by_hand(site: ServerSite, folder: Path) -> tuple[str, int]:
    """Start the demo agent as a person does. Return its pane and its process."""
    told = ("-P", "-F", "#{pane_id} #{pane_pid}")
    said = subprocess.run(
        [site.tmux, "-S", str(site.socket), "new-session", "-d", *told, *DEMO],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    pane, pid = said.stdout.split()
    return pane, int(pid)


@asynccontextmanager
async def observed(folder: Path) -> AsyncIterator[Subject]:
    """Give an agent that a person started in a tmux server of their own."""
    with site_in(folder) as site:
        pane, pid = start_by_hand(site, folder)
        process = Process.of(pid)
        assert process
        runtime = ObservedRuntime("tmux", folder, WallClock(), Kernel(), typing=2.0)
        session = new_session()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.keep)
            runtime.attach(session, demo.DEMO, PaneRef(str(site.socket), pane), process)
            await seen(runtime, session, lambda view: view.is_resting)
            yield Subject(runtime, session)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def routed(folder: Path) -> AsyncIterator[Subject]:
    async with fake(folder) as subject, anyio.create_task_group() as tasks:
        router = RuntimeRouter(starting=subject.runtime)
        tasks.start_soon(router.keep)
        yield replace(subject, runtime=router)
        tasks.cancel_scope.cancel()


@pytest.fixture(
    params=[
        fake,
        stream,
        routed,
        pytest.param(tmux, marks=pytest.mark.real),
        pytest.param(observed, marks=pytest.mark.real),
    ],
    ids=lambda each: each.__name__,
)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    async with request.param(tmp_path) as subject:
        yield subject


@pytest.mark.spec("B2")
async def test_words_are_delivered_to_a_program_that_waits_for_them(subject: Subject) -> None:
    log = FakeLog()

    delivery = await subject.runtime.deliver(subject.parcel(), log, is_new=True)

    assert isinstance(delivery, Submitted)
    assert not delivery.is_final
    assert log.typed == 1


@pytest.mark.spec("B2")
async def test_words_that_were_delivered_are_not_delivered_again(subject: Subject) -> None:
    parcel = subject.parcel()
    await subject.runtime.deliver(parcel, FakeLog(), is_new=True)
    if subject.has_terminal:
        rests = lambda view: view.is_resting and view.box == ""  # noqa: E731
        await seen(subject.runtime, subject.session, rests)

    again = await subject.runtime.deliver(
        replace(parcel, step=Step.SUBMITTED), FakeLog(), is_new=False
    )

    assert again == LeftInput()


@pytest.mark.spec("B2")
async def test_words_stay_in_the_input_while_deliveries_are_held(subject: Subject) -> None:
    if not subject.has_terminal:
        pytest.skip("without a terminal there is no input that words could stand in")
    parcel = subject.parcel()

    held = await subject.runtime.deliver(parcel, FakeLog(is_holding=True), is_new=True)
    box = await subject.box()
    delivered = await subject.runtime.deliver(parcel, FakeLog(), is_new=False)

    assert (held, box) == (Blocked(is_typed=True), WORDS)
    assert isinstance(delivered, Submitted)


@pytest.mark.spec("B2")
async def test_words_whose_trace_is_lost_are_unknown(subject: Subject) -> None:
    if not subject.has_terminal:
        pytest.skip("a stream knows what was written to it")

    lost = subject.parcel(Step.PASTED)

    assert await subject.runtime.deliver(lost, FakeLog(), is_new=False) == Unknown()


@pytest.mark.spec("B4")
async def test_a_program_that_is_stopped_by_force_is_told_to_have_ended(
    subject: Subject,
) -> None:
    await subject.runtime.stop(subject.session, StopMethod.KILL)

    with anyio.fail_after(SOON):
        async for sighting in subject.runtime.watch():
            if isinstance(sighting, Exited | Vanished):
                break

    assert sighting.session == subject.session


async def test_a_session_without_a_terminal_says_so(subject: Subject) -> None:
    if subject.has_terminal:
        assert await subject.runtime.terminal(subject.session).read() is not None
    else:
        with pytest.raises(NoTerminal):
            subject.runtime.terminal(subject.session)


async def test_an_interrupt_is_taken(subject: Subject) -> None:
    if subject.has_terminal and not isinstance(subject.runtime, FakeRuntime | RuntimeRouter):
        long = replace(subject.parcel(), words="sleep: 600")
        await subject.runtime.deliver(long, FakeLog(), is_new=True)
        await seen(subject.runtime, subject.session, lambda view: view.is_working)

    await subject.runtime.interrupt(subject.session)

    if subject.has_terminal:
        await seen(subject.runtime, subject.session, lambda view: view.is_resting)


Call = Callable[[Runtime, Parcel], Awaitable[object]]


async def _check(runtime: Runtime, parcel: Parcel) -> None:
    runtime.check(parcel.recipient, parcel.words)


async def _read(runtime: Runtime, parcel: Parcel) -> None:
    await runtime.terminal(parcel.recipient).read()


CALLS: dict[str, Call] = {
    "deliver": lambda runtime, parcel: runtime.deliver(parcel, FakeLog(), is_new=True),
    "interrupt": lambda runtime, parcel: runtime.interrupt(parcel.recipient),
    "ask": lambda runtime, parcel: runtime.stop(parcel.recipient, StopMethod.ASK),
    "terminate": lambda runtime, parcel: runtime.stop(parcel.recipient, StopMethod.TERMINATE),
    "terminal": _read,
    "check": _check,
}


async def test_nothing_can_be_asked_of_a_session_that_is_not_held(subject: Subject) -> None:
    await subject.runtime.release(subject.session)

    for call in CALLS.values():
        with pytest.raises(RuntimeFailed, match="no pane is known"):
            await call(subject.runtime, subject.parcel())
