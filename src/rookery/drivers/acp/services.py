"""Files and commands that an ACP agent asks its client for, under Rookery's permissions."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path

from acp import RequestError

from rookery.drivers.acp.diffs import unified
from rookery.drivers.acp.files import OutOfReach, ProjectFiles
from rookery.drivers.acp.options import Service
from rookery.drivers.acp.questions import TurnQuestions
from rookery.drivers.acp.terminals import ClientTerminal, TerminalRefused, Terminals
from rookery.drivers.acp.tools import (
    EDIT,
    EXECUTE,
    RUN_COMMAND,
    WRITE_FILE,
    AcpCall,
    FileDiff,
    NameTool,
)
from rookery.drivers.events import Event, FileChanged, ToolBegan, ToolEnded
from rookery.drivers.result_texts import bounded
from rookery.drivers.task_set import TaskSet

#: The error codes of a request that is refused, and of a file that is not there.
REFUSED, NOT_FOUND = -32603, -32002


class Services:
    """Carries out requests within the project; a change or a command is asked about first.

    A request that belongs to a call which was just allowed is not asked about again.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        asking: TurnQuestions,
        name_tool: NameTool,
        report: Callable[[Event], None],
    ) -> None:
        self.asking = asking
        self._files = ProjectFiles(folder)
        self._folder = folder
        self._terminals = Terminals(environment)
        self._name_tool = name_tool
        self._report = report
        self._offered: frozenset[Service] = frozenset()
        self._granted_diffs: list[FileDiff] = []
        self._granted_commands: list[str] = []
        self._numbers = count(1)
        self._tasks = TaskSet()

    def offer(self, services: Iterable[Service]) -> None:
        self._offered = frozenset(services)

    def begin_turn(self) -> None:
        """Forget what was allowed in the last turn."""
        self._granted_diffs.clear()
        self._granted_commands.clear()

    def grant(self, call: AcpCall) -> None:
        """Note that a call is allowed: what it shows may be carried out, once."""
        self._granted_diffs += call.diffs
        if isinstance(command := call.input.get("command"), str):
            self._granted_commands.append(command)

    def close(self) -> None:
        """Kill the commands."""
        self._terminals.close()

    # -- Files -------------------------------------------------------------------------------

    async def read(self, path: str, first: int | None, count: int | None) -> str:
        self._require("read", "fs/read_text_file")
        text = await self._in_reach(self._files.read, path, first, count)
        if text is None:
            raise RequestError(NOT_FOUND, f"Resource not found: {path} does not exist")
        return str(text)

    async def write(self, path: str, content: str) -> None:
        self._require("write", WRITE_FILE)
        await self._in_reach(self._files.locate, path)
        if self._take_diff(path, content):
            await self._in_reach(self._files.write, path, content)
            return
        old = await self._in_reach(self._files.read, path, None, None)
        diff = FileDiff(path, old if isinstance(old, str) else None, content)
        call = AcpCall(
            f"write-{next(self._numbers)}",
            title=path,
            kind=EDIT,
            input={"path": path, "content": content},
            diffs=(diff,),
            method=WRITE_FILE,
        )
        tool = await self._ask(call)
        try:
            await self._in_reach(self._files.write, path, content)
        except RequestError as error:
            self._report(ToolEnded(call.call_id, tool, str(error), failed=True))
            raise
        self._report(FileChanged(path, unified(diff), call.call_id))
        self._report(ToolEnded(call.call_id, tool))

    def _take_diff(self, path: str, content: str) -> bool:
        """Return whether an allowed call shows this change; it then counts as made."""
        for diff in self._granted_diffs:
            if diff.new == content and Path(diff.path).resolve() == Path(path).resolve():
                self._granted_diffs.remove(diff)
                return True
        return False

    async def _in_reach(self, work: Callable[..., object], *arguments: object) -> object:
        try:
            return await asyncio.to_thread(work, *arguments)
        except OutOfReach as error:
            raise RequestError(REFUSED, str(error)) from error

    # -- Commands ----------------------------------------------------------------------------

    async def run(
        self,
        words: Sequence[str],
        added: Mapping[str, str],
        folder: str | None,
        limit: int | None,
    ) -> str:
        """Run a command; return the id of its terminal. A single word is a shell's line."""
        self._require("terminal", RUN_COMMAND)
        where = await self._in_reach(self._files.locate, folder or str(self._folder.resolve()))
        line = shlex.join(words) if len(words) > 1 else words[0]
        argv = tuple(words) if len(words) > 1 else ("/bin/sh", "-c", line)
        call, tool = None, ""
        if line in self._granted_commands:
            self._granted_commands.remove(line)
        else:
            shown = {"command": line, **({"cwd": folder} if folder else {})}
            number = f"command-{next(self._numbers)}"
            call = AcpCall(number, line, kind=EXECUTE, input=shown, method=RUN_COMMAND)
            tool = await self._ask(call)
        try:
            name = await self._terminals.create(argv, added, Path(str(where)), limit)
        except TerminalRefused as error:
            raise RequestError(REFUSED, str(error)) from error
        if call:
            self._tasks.begin(self._report_end(call.call_id, tool, self.terminal(name)))
        return name

    def terminal(self, name: str) -> ClientTerminal:
        try:
            return self._terminals.find(name)
        except TerminalRefused as error:
            raise RequestError(REFUSED, str(error)) from error

    def release(self, name: str) -> None:
        self.terminal(name)
        self._terminals.release(name)

    async def _report_end(self, call_id: str, tool: str, terminal: ClientTerminal) -> None:
        ended = await terminal.wait()
        self._report(ToolEnded(call_id, tool, bounded(terminal.output), ended.code != 0))

    # -- Permission --------------------------------------------------------------------------

    def _require(self, service: Service, method: str) -> None:
        if service not in self._offered:
            raise RequestError.method_not_found(method)

    async def _ask(self, call: AcpCall) -> str:
        """Ask whether a call may run; return its tool. Raises ``RequestError`` if not."""
        use = self._name_tool(call)
        self._report(ToolBegan(call.call_id, use.tool, use.input))
        answer = await self.asking.ask(use, call)
        if answer is not None and answer.allow:
            return use.tool
        reason = answer.message if answer else "the turn was cancelled"
        self._report(ToolEnded(call.call_id, use.tool, reason, failed=True))
        raise RequestError(REFUSED, f"The user refused it. {reason}".strip())
