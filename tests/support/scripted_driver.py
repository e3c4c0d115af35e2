"""A driver without a program: it plays its prompts, and hosts that run within the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from rookery.drivers.driver import DriverContext, DriverError, DriverLaunch
from rookery.drivers.events import (
    Asked,
    Basis,
    Ended,
    FileChanged,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Up,
    Used,
)
from rookery.drivers.host import Host
from rookery.drivers.host_files import HostFiles
from rookery.runtimes.driven.host_process import HostSite, is_listening

NAME = "scripted"


def native_id(session: str) -> str:
    """Return the id under which the conversation of a session is known."""
    return f"00000000{session[8:]}"


class ScriptedDriver:
    """Plays a prompt: steps such as ``say: hello`` or ``run: ls``, one in each line.

    ``unasked`` and ``granted`` are commands like ``run``, about which no person is asked.
    ``wait`` goes on until it is interrupted, ``cost: 2`` uses dollars, ``crash: why`` ends it,
    ``fail: why`` ends the turn as failed, ``cut-off: why`` the turn and with it the program,
    ``edit: path`` changes a file if it may. ``nested: 900`` runs ``ls`` with an input that has
    so many levels.
    """

    pid = None

    #: The prompts that drivers were given, since the test began.
    heard: ClassVar[list[str]] = []

    def __init__(self, launch: DriverLaunch, around: DriverContext) -> None:
        self.launch = launch
        self._around = around
        self._over: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._turn: asyncio.Task[None] | None = None

    async def run(self) -> Ended:
        if self.launch.options.get("refuse"):
            raise DriverError("it does not want to.")
        if not self.launch.options.get("hang"):
            self._around.report(Up(native_id(self.launch.session), "scripted-1"))
        return await self._over

    async def prompt(self, text: str) -> None:
        self.heard.append(text)
        self._around.report(PromptTaken(text))
        self._turn = asyncio.ensure_future(self._play(text))

    async def _play(self, text: str) -> None:
        said = ""
        try:
            for number, step in enumerate(text.splitlines()):
                name, _, rest = step.partition(": ")
                said = await self._take(name, rest, str(number)) or said
        except asyncio.CancelledError:
            self._around.report(TurnOver(said, "interrupted"))
        except DriverError as error:
            self._around.report(TurnOver(said, "failed", str(error)))
        except ConnectionError as error:
            self._around.report(TurnOver(said, "failed", str(error), fails_session=True))
            self._over.set_result(Ended("failed", str(error)))
        else:
            self._around.report(TurnOver(said))

    async def _take(self, name: str, rest: str, number: str) -> str:  # noqa: C901 - a table
        match name:
            case "say":
                self._around.report(TextAdded(rest))
                return rest
            case "run":
                return await self._run(rest, number)
            case "unasked" | "granted":
                return await self._run(rest, number, basis=name)
            case "nested":
                return await self._run("ls", number, x=_nested(int(rest)))
            case "edit":
                return await self._edit(rest, number)
            case "cost":
                cost = round(float(rest) * 1_000_000)
                self._around.report(Used(10, 20, cost, cost))
            case "wait":
                await asyncio.Event().wait()
            case "crash":
                self._over.set_result(Ended("failed", rest))
            case "fail":
                raise DriverError(rest)
            case "cut-off":
                raise ConnectionError(rest)
            case _:
                pass
        return ""

    async def _run(
        self, command: str, number: str, *, basis: Basis = "person", **more: object
    ) -> str:
        given = {"command": command, **more}
        self._around.report(ToolBegan(number, "Bash", given))
        answer = await self._around.ask(Asked(number, "Bash", given, number, basis=basis))
        result = f"ran {command}" if answer.allow else f"denied: {answer.message}"
        self._around.report(ToolEnded(number, "Bash", result, failed=not answer.allow))
        self._around.report(TextAdded(result))
        return result

    async def _edit(self, path: str, number: str) -> str:
        self._around.report(ToolBegan(number, "Edit", {"file_path": path}))
        self._around.report(FileChanged(path, "+new", number))
        answer = await self._around.ask(Asked(number, "Edit", {"file_path": path}, number))
        self._around.report(ToolEnded(number, "Edit", failed=not answer.allow))
        return "edited" if answer.allow else "denied"

    async def interrupt(self) -> None:
        if self._turn:
            self._turn.cancel()

    async def close(self) -> None:
        if self.launch.options.get("linger"):
            await asyncio.Event().wait()
        if self._turn:
            self._turn.cancel()
        if not self._over.done():
            self._over.set_result(Ended("completed", "it was closed"))


def _nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def site_in(folder: Path) -> HostSite:
    return HostSite(
        folder / "drivers.sock",
        folder / "drivers.key",
        folder / "driven",
        folder / "log",
        folder / "drivers.pid",
    )


@asynccontextmanager
async def hosting(site: HostSite) -> AsyncIterator[Host]:
    """Run a host within the test while the block lasts; it knows the scripted driver."""
    site.events.mkdir(exist_ok=True)
    host = Host(site.events, "secret", lambda _: ScriptedDriver)
    files = HostFiles(site.socket, site.key, site.record)
    serving = asyncio.ensure_future(host.serve(files))
    while not is_listening(site):
        await asyncio.wait([serving], timeout=0.01)
    try:
        yield host
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
