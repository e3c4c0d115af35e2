"""Files and commands that an ACP agent asks its client for, under Rookery's permissions."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from acp import RequestError

from rookery.drivers.acp.diffs import unified
from rookery.drivers.acp.files import OutOfReach, ProjectFiles
from rookery.drivers.acp.grants import Grant, Grants
from rookery.drivers.acp.options import Service
from rookery.drivers.acp.questions import TurnQuestions
from rookery.drivers.acp.terminals import ClientTerminal, TerminalRefused, Terminals
from rookery.drivers.acp.tools import (
    EDIT,
    EXECUTE,
    READ,
    READ_FILE,
    RUN_COMMAND,
    WRITE_FILE,
    AcpCall,
    FileDiff,
    NamedCall,
    NameTool,
)
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.events import CommandStarted, Event, FileChanged, ToolBegan, ToolEnded
from rookery.drivers.result_texts import bounded
from rookery.drivers.task_set import TaskSet
from rookery.model.variables import ENVIRONMENT, OWN_PREFIX
from rookery.processes import Process

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: The error codes of a request that is refused, and of a file that is not there.
REFUSED, NOT_FOUND = -32603, -32002


class Services:
    """Carries out requests within the project; a change or a command is asked about first.

    What belongs to a call that was just allowed is only checked against the rules that deny.
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
        self._terminals = Terminals(environment, self._note_command)
        self._name_tool = name_tool
        self._report = report
        self._offered: frozenset[Service] = frozenset()
        self._grants = Grants(folder, name_tool)
        self._numbers = count(1)
        self._tasks = TaskSet()

    def offer(self, services: Iterable[Service]) -> None:
        self._offered = frozenset(services)

    def begin_turn(self) -> None:
        """Forget what was allowed in the last turn."""
        self._grants.clear()

    def grant_of(self, call: AcpCall, use: NamedCall) -> Grant:
        """Return what a call shows, before it is decided."""
        return self._grants.read(call, use)

    def grant(self, grant: Grant) -> None:
        """Note that a call was decided and allowed: what it shows is not asked about again."""
        self._grants.add(grant)

    def _note_command(self, process: Process) -> None:
        self._report(CommandStarted(process.key))

    def close(self) -> None:
        """Kill the commands."""
        self._terminals.close()

    # -- Files -------------------------------------------------------------------------------

    async def read(self, path: str, first: int | None, count: int | None) -> str:
        """Read a file, unless a rule denies it; no person is asked."""
        self._require("read", READ_FILE)
        file = await self._in_reach(self._files.locate, path)
        shown = {"path": str(file.path)}
        number = f"read-{next(self._numbers)}"
        call = AcpCall(number, path, kind=READ, input=shown, method=READ_FILE)
        use = self._name_tool(call)
        # Rules may use the field of the protocol, or that of the agent's own tool.
        answer = await self.asking.check(
            NamedCall(use.tool, {**shown, **use.input}), call, READ_FILE
        )
        if answer is None or not answer.allow:
            raise _refusal(answer)
        text = await self._in_reach(self._files.read, file, first, count)
        if text is None:
            raise RequestError(NOT_FOUND, f"Resource not found: {path} does not exist")
        return text

    async def write(self, path: str, content: str) -> None:
        self._require("write", WRITE_FILE)
        file = await self._in_reach(self._files.locate, path)
        old = await self._in_reach(self._files.read, file, None, None)
        diff = FileDiff(str(file.path), old, content)
        call = AcpCall(
            f"write-{next(self._numbers)}",
            title=diff.path,
            kind=EDIT,
            input={"path": diff.path, "content": content},
            diffs=(diff,),
            method=WRITE_FILE,
        )
        use, is_granted = self._name_tool(call), self._grants.take_change(file, content)
        await self._decide(call, use, is_granted=is_granted)
        try:
            await self._in_reach(self._files.write, file, content)
        except RequestError as error:
            if not is_granted:
                self._report(ToolEnded(call.call_id, use.tool, str(error), failed=True))
            raise
        if not is_granted:  # else it belongs to a call that is reported already
            self._report(FileChanged(diff.path, unified(diff), call.call_id))
            self._report(ToolEnded(call.call_id, use.tool))

    async def _in_reach(self, work: Callable[_P, _T], *given: _P.args, **more: _P.kwargs) -> _T:
        try:
            return await asyncio.to_thread(work, *given, **more)
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
        if own := sorted(name for name in added if name.upper().startswith(OWN_PREFIX)):
            raise RequestError(REFUSED, f"No command may set {', '.join(own)}.")
        where = await self._in_reach(self._files.locate, folder or str(self._folder.resolve()))
        line = shlex.join(words) if len(words) > 1 else words[0]
        argv = tuple(words) if len(words) > 1 else ("/bin/sh", "-c", line)
        shown: dict[str, Any] = {
            "command": line,
            **({"cwd": str(where.path)} if folder else {}),
        }
        if added:
            shown[ENVIRONMENT] = dict(sorted(added.items()))
        number = f"command-{next(self._numbers)}"
        call = AcpCall(number, line, kind=EXECUTE, input=shown, method=RUN_COMMAND)
        use = self._name_tool(call)
        is_granted = self._grants.take_command(use)
        await self._decide(call, use, is_granted=is_granted)
        try:
            name = await self._terminals.create(argv, added, where.path, limit)
        except TerminalRefused as error:
            raise RequestError(REFUSED, str(error)) from error
        if not is_granted:
            self._tasks.begin(self._report_end(call.call_id, use.tool, self.terminal(name)))
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

    async def _decide(self, call: AcpCall, use: NamedCall, *, is_granted: bool) -> None:
        """Raise ``RequestError`` if a call may not run: rules apply to a granted one, too."""
        if self.asking.is_cancelled:  # a call that is reported without a turn has no end
            raise _refusal(None)
        if not is_granted:
            self._report(ToolBegan(call.call_id, use.tool, use.input))
        answer = await self.asking.ask(
            use, call, basis="granted" if is_granted else "person", method=call.method
        )
        if answer is not None and answer.allow:
            return
        if not is_granted:
            reason = answer.message if answer else _CANCELLED
            self._report(ToolEnded(call.call_id, use.tool, reason, failed=True))
        raise _refusal(answer)


_CANCELLED = "the turn was cancelled"


def _refusal(answer: AgentAnswer | None) -> RequestError:
    reason = answer.message if answer else _CANCELLED
    return RequestError(REFUSED, f"The user refused it. {reason}".strip())
