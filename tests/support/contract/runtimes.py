"""Runtimes to be tried alike, and what people and programs do around each of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import anyio

from rookery.agents import demo
from rookery.model.facts import SessionId
from rookery.model.screens import View
from rookery.model.sessions import program_name
from rookery.ports.runtime import HeldProgram, Launch, Runtime
from rookery.ports.sightings import Exited, Finished, Vanished
from rookery.runtimes.tmux.delivery_steps import Typing
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite
from tests.support.contract.tmux import holding
from tests.support.fakes.runtime import FakeRuntime, Manner

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 20.0

DEMO = (sys.executable, "-I", "-m", "rookery.programs.demo")

STUBBORN = (sys.executable, "-I", str(Path(__file__).with_name("stubborn_program.py")))

SUSPENDING = (sys.executable, "-I", str(Path(__file__).with_name("suspending_program.py")))


class Bench(Protocol):
    @property
    def runtime(self) -> Runtime: ...

    async def type(self, session: SessionId, text: str) -> None:
        """Let a person type into the empty box."""
        ...

    async def ask(self, session: SessionId) -> None:
        """Let the program open a dialog."""
        ...

    async def leave(self, session: SessionId, code: int) -> None:
        """Let the program end by itself."""
        ...

    async def printed(self, session: SessionId, *lines: str) -> None:
        """Wait until a program shows just these lines; where it cannot, have them shown."""
        ...

    async def start_stubborn(
        self, session: SessionId, folder: Path, *, discards: int = 0
    ) -> None:
        """Start a program that keeps its words in the box whatever is pressed.

        It throws away so many pastes first.
        """
        ...

    async def begin_life(self) -> None:
        """Have the daemon die, and the next one begin; the programs live on."""
        ...

    def typing(self, session: SessionId) -> Typing:
        """Return what types into a session's program."""
        ...

    async def pid_of(self, session: SessionId) -> int:
        """Return the pid of a session's program."""
        ...

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose program is one of these processes."""
        ...


class FakeBench:
    def __init__(self) -> None:
        self.runtime = FakeRuntime()

    async def type(self, session: SessionId, text: str) -> None:
        self.runtime.program(session).box = text

    async def ask(self, session: SessionId) -> None:
        self.runtime.program(session).dialog = "May I?"

    async def leave(self, session: SessionId, code: int) -> None:
        self.runtime.exit(self.runtime.program(session), code=code)

    async def printed(self, session: SessionId, *lines: str) -> None:
        self.runtime.program(session).screen = list(lines)

    async def start_stubborn(
        self, session: SessionId, folder: Path, *, discards: int = 0
    ) -> None:
        self.runtime.manner = Manner(swallows=1_000, discards=discards)
        await started(self.runtime, session, folder)

    async def begin_life(self) -> None:
        self.runtime.begin_life()

    def typing(self, session: SessionId) -> Typing:
        return self.runtime

    async def pid_of(self, session: SessionId) -> int:
        return self.runtime.program(session).pid

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        return self.runtime.holder_of(lineage)


class TmuxBench:
    """The real tmux, with the demo agent; its daemons live one after the other."""

    def __init__(self, site: ServerSite, lives: AsyncExitStack) -> None:
        self.runtime: TmuxRuntime
        self._site = site
        self._lives = lives

    async def type(self, session: SessionId, text: str) -> None:
        pane = (await self._place(session)).pane
        await self.runtime.server.ask(line("send-keys", "-l", "-t", pane, text))
        await seen(self.runtime, session, lambda view: view.box == text)

    async def ask(self, session: SessionId) -> None:
        await self.type(session, "permission: Bash ls")
        await self.runtime.terminal(session).press("enter")
        await seen(self.runtime, session, lambda view: view.dialog is not None)

    async def leave(self, session: SessionId, code: int) -> None:
        await self.type(session, f"exit: {code}")
        await self.runtime.terminal(session).press("enter")

    async def printed(self, session: SessionId, *lines: str) -> None:
        with anyio.fail_after(SOON):
            async for screen in self.runtime.terminal(session).screens():
                if tuple(line.rstrip() for line in screen if line.strip()) == lines:
                    return

    async def start_stubborn(
        self, session: SessionId, folder: Path, *, discards: int = 0
    ) -> None:
        argv = (*STUBBORN, str(discards))
        await self.runtime.start(replace(launch_of(session, folder), argv=argv))
        await seen(self.runtime, session, lambda view: view.is_resting)

    def typing(self, session: SessionId) -> Typing:
        return self.runtime.typist(session)

    async def pid_of(self, session: SessionId) -> int:
        return (await self._place(session)).pid

    async def _place(self, session: SessionId) -> Place:
        return Place.read((await self.runtime.find())[program_name(session)].handle)

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        return self.runtime.holder_of(lineage)

    async def begin_life(self) -> None:
        await self._lives.aclose()
        self.runtime = await self._lives.enter_async_context(holding(self._site))


def launch_of(session: SessionId, folder: Path) -> Launch:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    environment["PS1"] = "$ "  # a shell's prompt, whoever runs it
    return Launch(session, demo.DEMO, DEMO, environment, folder)


async def started(runtime: Runtime, session: SessionId, folder: Path) -> HeldProgram:
    """Start the demo agent, and wait until one can type."""
    held = await runtime.start(launch_of(session, folder))
    await seen(runtime, session, lambda view: view.is_resting)
    return held


async def ending(runtime: Runtime) -> Exited | Vanished | Finished:
    """Wait for the end of a program."""
    with anyio.fail_after(SOON):
        async for sighting in runtime.watch():
            if isinstance(sighting, Exited | Vanished | Finished):
                return sighting
    raise AssertionError


async def seen(runtime: Runtime, session: SessionId, question: Callable[[View], bool]) -> None:
    """Look at what the agent shows, whenever that changes, until the answer is yes."""
    with anyio.fail_after(SOON):
        async for _ in runtime.terminal(session).screens():
            if question(await runtime.terminal(session).view()):
                return
    message = f"its last screen: {await runtime.terminal(session).read()}"
    raise AssertionError(message)
