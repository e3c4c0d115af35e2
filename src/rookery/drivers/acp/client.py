"""Rookery's side of the Agent Client Protocol: what an agent may report and request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from acp import RequestError
from acp.schema import (
    CreateElicitationResponse,
    CreateTerminalResponse,
    ElicitationFormRequestMode,
    ElicitationFormSessionMode,
    EnvVariable,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileResponse,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from rookery.drivers.acp.answers import is_allowing, is_unasked, respond, withdrawn
from rookery.drivers.acp.forms import CANCELLED, ask_form, form_of
from rookery.drivers.acp.options import AcpOptions
from rookery.drivers.acp.services import Services
from rookery.drivers.acp.tools import NameTool
from rookery.drivers.acp.updates import Update, UpdateReader
from rookery.drivers.driver import DriverContext
from rookery.drivers.events import Basis, Event, Noticed

#: Seconds after which the whole paragraphs of a long text are reported before its end.
LONG_TEXT_SECONDS = 5.0


class AcpClient:
    """Reports what the agent does, and answers its requests. See ``acp.Client``."""

    def __init__(
        self,
        context: DriverContext,
        reader: UpdateReader,
        name_tool: NameTool,
        options: AcpOptions,
        services: Services,
    ) -> None:
        self._context = context
        self._reader = reader
        self._name_tool = name_tool
        self._options = options
        self._services = services
        self.asking = services.asking
        self.is_open = False  #: until then, what it reports is a part of its start
        self.is_in_turn = False
        #: Whether its last answer was a refusal, and the agent has done nothing since.
        self.stopped_at_refusal = False
        self.acted: Callable[[], None] = lambda: None
        self.updated_at = asyncio.get_running_loop().time()
        self._reported_at = self.updated_at

    def on_connect(self, conn: object) -> None:
        """Do nothing: the driver has the connection."""

    def report(self, events: Iterable[Event]) -> None:
        for event in events:
            self._reported_at = asyncio.get_running_loop().time()
            self._context.report(event)

    # -- What the agent reports --------------------------------------------------------------

    async def session_update(self, session_id: str, update: Update, **_: Any) -> None:  # noqa: ANN401
        now = self.updated_at = asyncio.get_running_loop().time()
        kind = update.session_update
        if kind in _OF_TURN and not self.is_in_turn:
            return  # a conversation that is loaded is replayed
        if kind in _OF_TURN or kind in _SIGNS:
            self.acted()
        if kind in _GOES_ON:
            self.stopped_at_refusal = False
            self.report(self._reader.end_refused())
        events = [*self._reader.read(update)]
        if self.is_open:
            self.report(events)
        if now - self._reported_at > LONG_TEXT_SECONDS:
            self.report(self._reader.flush_paragraphs())

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore what is not part of the protocol."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(method)

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:  # noqa: ANN401
        """Ignore it: only forms are offered, which have no such end."""

    # -- What it requests --------------------------------------------------------------------

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: Any,  # noqa: ANN401 - whatever ``_meta`` holds
    ) -> RequestPermissionResponse:
        if self.asking.is_cancelled:  # a call that is reported without a turn has no end
            return withdrawn()
        self.acted()
        self.report(self._reader.read_asked_call(tool_call))
        call = self._reader.call(tool_call.tool_call_id)
        use = self._name_tool(call)
        basis: Basis = "unasked" if is_unasked(use, self._options.unasked) else "person"
        shown = self._services.grant_of(call, use)
        answer = await self.asking.ask(use, call, basis=basis)
        if answer is None:
            return withdrawn()
        response = respond(options, answer, use)
        if is_allowing(options, response):
            if basis == "person":  # no rule and no person has decided the others
                self._services.grant(shown)
        else:
            self.stopped_at_refusal = True
            self._reader.refuse(call.call_id)
            if answer.allow:
                self._note_without_option(use.tool, options)
        return response

    def _note_without_option(self, tool: str, options: Sequence[PermissionOption]) -> None:
        offered = ", ".join(each.name for each in options) or "nothing"
        detail = f"{tool} was refused: the agent has no option for one call, only {offered}."
        self.report([Noticed("refused", detail)])

    async def create_elicitation(
        self,
        message: str,
        mode: object,
        **_: Any,  # noqa: ANN401 - whatever ``_meta`` holds
    ) -> CreateElicitationResponse:
        if not isinstance(mode, ElicitationFormSessionMode | ElicitationFormRequestMode):
            return CANCELLED  # an address to open, which is not offered
        self.acted()
        call = self._reader.call(getattr(mode, "tool_call_id", None) or "")
        form = form_of(message, mode.requested_schema, self._options.other_suffix)
        return await ask_form(self.asking, form, call, self._name_tool)

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: Any,  # noqa: ANN401 - whatever ``_meta`` holds
    ) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=await self._services.read(path, line, limit))

    async def write_text_file(
        self,
        session_id: str,
        path: str,
        content: str,
        **_: Any,  # noqa: ANN401
    ) -> WriteTextFileResponse:
        self.acted()
        await self._services.write(path, content)
        return WriteTextFileResponse()

    async def create_terminal(  # noqa: PLR0913, PLR0917 - as the protocol has it
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,  # noqa: ANN401
    ) -> CreateTerminalResponse:
        self.acted()
        added = {each.name: each.value for each in env or ()}
        name = await self._services.run((command, *(args or ())), added, cwd, output_byte_limit)
        return CreateTerminalResponse(terminal_id=name)

    async def terminal_output(
        self,
        session_id: str,
        terminal_id: str,
        **_: Any,  # noqa: ANN401
    ) -> TerminalOutputResponse:
        terminal = self._services.terminal(terminal_id)
        ended = terminal.exit
        status = (
            TerminalExitStatus(exit_code=ended.code, signal=ended.signal) if ended else None
        )
        return TerminalOutputResponse(
            output=terminal.output, truncated=terminal.is_cut, exit_status=status
        )

    async def wait_for_terminal_exit(
        self,
        session_id: str,
        terminal_id: str,
        **_: Any,  # noqa: ANN401
    ) -> WaitForTerminalExitResponse:
        ended = await self._services.terminal(terminal_id).wait()
        return WaitForTerminalExitResponse(exit_code=ended.code, signal=ended.signal)

    async def kill_terminal(
        self,
        session_id: str,
        terminal_id: str,
        **_: Any,  # noqa: ANN401
    ) -> KillTerminalResponse:
        self._services.terminal(terminal_id).kill()
        return KillTerminalResponse()

    async def release_terminal(
        self,
        session_id: str,
        terminal_id: str,
        **_: Any,  # noqa: ANN401
    ) -> ReleaseTerminalResponse:
        self._services.release(terminal_id)
        return ReleaseTerminalResponse()


#: The updates by which an agent goes on after a refusal.
_GOES_ON = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call"})

#: Further updates that a prompt leads to.
_SIGNS = frozenset({"session_info_update", "usage_update"})

#: The updates that belong to a turn.
_OF_TURN = _GOES_ON | {"user_message_chunk", "tool_call_update", "plan"}
