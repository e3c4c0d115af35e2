"""Every runtime with one session: with a terminal or without, ours or not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from rookery.agents import demo
from rookery.agents.codex.agent import CODEX
from rookery.agents.opencode.agent import OPENCODE
from rookery.clock import WallClock
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from rookery.ports.runtime import DriverOptions, Launch, Runtime, RuntimeHandle
from rookery.ports.sightings import Reported, ReportedTogether
from rookery.processes import Kernel, Process
from rookery.runtimes.driven.runtime import DrivenRuntime
from rookery.runtimes.router import RuntimeRouter
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.places import UserPlace
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite
from tests.support.contract.runtimes import DEMO, SOON, launch_of, seen, started
from tests.support.contract.tmux import holding, site_in
from tests.support.fakes.runtime import FakeRuntime
from tests.support.fakes.stream_runtime import StreamRuntime
from tests.support.paths import MORE_PROGRAMS, PROGRAMS, SUPPORT
from tests.support.real.acp_agents import CASES
from tests.support.real.agents import seed_codex
from tests.support.scripted_driver import NAME, hosting
from tests.support.scripted_driver import site_in as driver_site_in
from tests.support.scripted_model.server import ModelServer

WORDS = "say: hello"

#: Seconds for a program that needs many to start.
SLOWLY = 90.0


@dataclass(frozen=True)
class Subject:
    """A runtime that holds one session with the demo agent."""

    runtime: Runtime
    session: SessionId
    handle: RuntimeHandle
    #: Have the daemon die, and return the runtime of the next one; the program lives on.
    next_life: Callable[[], Awaitable[Runtime]]
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
    held = await started(runtime, session, folder)

    async def next_life() -> Runtime:
        runtime.begin_life()
        return runtime

    yield Subject(runtime, session, held.handle, next_life)


@asynccontextmanager
async def stream(folder: Path) -> AsyncIterator[Subject]:
    runtime, session = StreamRuntime(), new_session()
    held = await runtime.start(launch_of(session, folder))

    async def next_life() -> Runtime:
        runtime.begin_life()
        return runtime

    yield Subject(runtime, session, held.handle, next_life, has_terminal=False)


@asynccontextmanager
async def tmux(folder: Path) -> AsyncIterator[Subject]:
    with site_in(folder) as site:
        async with AsyncExitStack() as lives:

            async def next_life() -> TmuxRuntime:
                await lives.aclose()
                return await lives.enter_async_context(holding(site))

            runtime, session = await next_life(), new_session()
            held = await started(runtime, session, folder)
            yield Subject(runtime, session, held.handle, next_life)


def start_by_hand(site: ServerSite, folder: Path) -> tuple[str, Process]:
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
    process = Process.of(int(pid))
    assert process
    return pane, process


@asynccontextmanager
async def observed(folder: Path) -> AsyncIterator[Subject]:
    """Give an agent that a person started in a tmux server of their own."""
    with site_in(folder) as site:
        pane, process = start_by_hand(site, folder)
        session = new_session()
        where = {"server": str(site.socket), "pane": pane, "process": process.key}
        async with anyio.create_task_group() as tasks:

            async def next_life() -> ObservedRuntime:
                runtime = ObservedRuntime("tmux", folder, WallClock(), Kernel(), typing=2.0)
                tasks.start_soon(runtime.keep)
                return runtime

            runtime = await next_life()
            runtime.attach(session, demo.DEMO, **where)
            await seen(runtime, session, lambda view: view.is_resting)
            yield Subject(runtime, session, UserPlace(**where).handle, next_life)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def routed(folder: Path) -> AsyncIterator[Subject]:
    async with fake(folder) as subject, anyio.create_task_group() as tasks:
        assert isinstance(subject.runtime, FakeRuntime)
        router = RuntimeRouter({"fake": subject.runtime}, starting="fake")
        tasks.start_soon(router.keep)

        async def next_life() -> Runtime:
            await subject.next_life()
            return router

        yield replace(subject, runtime=router, next_life=next_life)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def driven(folder: Path) -> AsyncIterator[Subject]:
    """Give a session whose driver plays its prompts, in a host within the test."""
    launch = replace(launch_of(new_session(), folder), driver=DriverOptions(NAME))
    async with hosting(driver_site_in(folder)), following(folder, launch) as subject:
        yield subject


@asynccontextmanager
async def acp(folder: Path) -> AsyncIterator[Subject]:
    """Give the demo agent over ACP, in a driver host as the daemon starts it."""
    session = new_session()
    spec = LaunchSpec((*DEMO,), NativeId(""), "", "", "", folder)
    line = demo.DEMO.driven["acp"](spec)
    launch = replace(
        launch_of(session, folder),
        argv=line.line.argv,
        driver=DriverOptions(line.driver, line.options),
    )
    async with following(folder, launch) as subject:
        yield subject


@asynccontextmanager
async def sdk(folder: Path) -> AsyncIterator[Subject]:
    """Give a scripted program that speaks the protocol of the Claude Agent SDK."""
    program = (sys.executable, "-I", "-S", str(SUPPORT / "scripted_claude.py"))
    session = new_session()
    launch = replace(
        launch_of(session, folder),
        argv=program,
        driver=DriverOptions("sdk", {"native_id": session}),
    )
    async with following(folder, launch) as subject:
        yield subject


@asynccontextmanager
async def codex(folder: Path) -> AsyncIterator[Subject]:
    """Give the real Codex, driven through its app-server."""
    with ModelServer() as models:
        seed_codex(folder / "codex", folder, models.url)
        spec = LaunchSpec((str(PROGRAMS / "codex"),), NativeId(""), "", "", "true", folder)
        line = CODEX.driven["codex"](spec)
        for file, text in line.line.files.items():
            file.write_text(text)
        own = {"HOME": str(folder), "CODEX_HOME": str(folder / "codex"), "FAKE_KEY": "key"}
        launch = replace(
            launch_of(new_session(), folder),
            argv=line.line.argv,
            environment={"PATH": os.environ["PATH"], **own, **line.line.environment},
            driver=DriverOptions(line.driver, line.options),
        )
        async with following(folder, launch) as subject:
            yield subject


@asynccontextmanager
async def opencode(folder: Path) -> AsyncIterator[Subject]:
    """Give the real OpenCode, driven through its own server."""
    with ModelServer() as models:
        case = next(each for each in CASES if each.agent == "opencode")
        own = case.seed(folder, folder, models.url)
        command = (str(MORE_PROGRAMS / "opencode"),)
        spec = LaunchSpec(command, NativeId(""), "fake/fake-model", "default", "true", folder)
        line = OPENCODE.driven["opencode"](spec)
        for file, text in line.line.files.items():
            file.write_text(text)
        launch = replace(
            launch_of(new_session(), folder),
            argv=line.line.argv,
            environment={"PATH": os.environ["PATH"], **own, **line.line.environment},
            driver=DriverOptions(line.driver, line.options),
        )
        async with following(folder, launch, within=SLOWLY) as subject:
            yield subject


@asynccontextmanager
async def following(
    folder: Path, launch: Launch, *, within: float = SOON
) -> AsyncIterator[Subject]:
    """Start a driven session, and wait until it is up."""
    async with anyio.create_task_group() as tasks:

        async def next_life() -> DrivenRuntime:
            runtime = DrivenRuntime(driver_site_in(folder), WallClock())
            tasks.start_soon(runtime.keep)
            return runtime

        runtime, session = await next_life(), launch.session
        held = await runtime.start(launch)
        try:
            with anyio.fail_after(within):
                await _until_up(runtime)
            yield Subject(runtime, session, held.handle, next_life, has_terminal=False)
        finally:
            with suppress(RuntimeFailed), anyio.CancelScope(shield=True):
                await runtime.release(session)
                await runtime.retire()
            tasks.cancel_scope.cancel()


async def _until_up(runtime: DrivenRuntime) -> None:
    async for sighting in runtime.watch():
        if isinstance(sighting, ReportedTogether) and any(
            isinstance(each, Reported) and each.native_id for each in sighting.reports
        ):
            return


EVERY_RUNTIME = [
    pytest.param(driven, id="driven"),
    pytest.param(acp, id="acp", marks=pytest.mark.real),
    pytest.param(sdk, id="sdk", marks=pytest.mark.real),
    pytest.param(codex, id="codex", marks=pytest.mark.real),
    pytest.param(opencode, id="opencode", marks=pytest.mark.more_agents),
    pytest.param(fake, id="fake"),
    pytest.param(stream, id="stream"),
    pytest.param(routed, id="routed"),
    pytest.param(tmux, id="tmux", marks=pytest.mark.real),
    pytest.param(observed, id="observed", marks=pytest.mark.real),
]
