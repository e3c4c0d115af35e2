"""The driver for agents that speak the Agent Client Protocol over their standard streams."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import Literal, TypeAlias

import acp
from acp.client.connection import ClientSideConnection
from pydantic import ValidationError

from rookery.drivers.acp.client import AcpClient
from rookery.drivers.acp.handshake import (
    AUTH_REQUIRED,
    Handshake,
    OpenedSession,
    explain,
    within_json,
)
from rookery.drivers.acp.known_options import KnownOptions
from rookery.drivers.acp.options import read_options
from rookery.drivers.acp.process import AcpProcess
from rookery.drivers.acp.questions import TurnQuestions
from rookery.drivers.acp.services import Services
from rookery.drivers.acp.tools import NameTool, by_kind
from rookery.drivers.acp.trust import restrict
from rookery.drivers.acp.turns import turn_over, used_in
from rookery.drivers.acp.updates import UpdateReader
from rookery.drivers.driver import DriverContext, DriverError, DriverLaunch
from rookery.drivers.events import Ended, PromptTaken, TurnOver, Up

_How: TypeAlias = Literal["finished", "interrupted", "failed"]

#: Seconds after which a prompt that was written to a live program counts as taken: the
#: protocol has no acknowledgement, and a model may be silent for long.
TAKEN_SECONDS = 1.0

#: Seconds for a turn to end after it was cancelled, before the program is told to quit.
CANCEL_SECONDS = 1.0


class AcpDriver:
    """Drives one session with one program of its own."""

    def __init__(self, launch: DriverLaunch, context: DriverContext) -> None:
        self._launch = launch
        self._context = context
        self._options = read_options(launch.options)
        name_tool = find_dialect(self._options.dialect)
        self._asking = TurnQuestions(context)
        self._reader = UpdateReader(name_tool, self._options)
        self._services = Services(
            launch.folder, launch.environment, self._asking, name_tool, context.report
        )
        self._services.offer(self._options.services)
        self._client = AcpClient(
            context, self._reader, name_tool, self._options, self._services
        )
        self._process: AcpProcess | None = None
        self._connection: ClientSideConnection | None = None
        self._opened: OpenedSession | None = None
        self._turn: _Turn | None = None
        self._is_closing = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.status is None else None

    async def run(self) -> Ended:
        launch = self._launch
        self._options, notices = await restrict(self._options, launch)
        process = await AcpProcess.start(launch.argv, launch.environment, launch.folder)
        self._process = process
        self._connection = ClientSideConnection(
            self._client,
            KnownOptions(process, self._context.report),
            use_unstable_protocol=True,
        )
        try:
            over = asyncio.ensure_future(process.wait_until_over())
            if self._is_closing:  # it was closed before there was a program
                await process.quit()
            if opened := await self._open(self._connection, over):
                self._opened = opened
                self._client.is_open = True
                self._reader.note_setting("mode", opened.mode)
                self._reader.note_setting("model", opened.model)
                self._client.report([Up(opened.session_id, opened.model), *notices])
                await over
        except asyncio.CancelledError:
            self._cut_off("interrupted", "")
            raise
        finally:
            self._services.close()
            await process.kill()
            await self._connection.close()
        return self._ended(process)

    async def _open(
        self, connection: ClientSideConnection, over: asyncio.Future[None]
    ) -> OpenedSession | None:
        """Open the session; ``None`` if the program ends meanwhile."""
        client = self._client
        handshake = Handshake(
            connection, self._options, self._launch.folder, lambda: client.updated_at
        )
        opening = asyncio.ensure_future(handshake.open())
        both: set[asyncio.Future[object]] = {over, opening}  # type: ignore[arg-type]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            try:
                return opening.result()
            except ConnectionError:
                self._note_broken_connection()
            await over
        else:
            opening.cancel()
            await asyncio.wait({opening})
        return None

    def _note_broken_connection(self) -> None:
        """Let the session end, even if the program lives: it takes nothing any more."""
        if self._process and self._process.is_alive:
            self._process.give_up()

    def _ended(self, process: AcpProcess) -> Ended:
        """Report the end of a turn that the program's end has cut off."""
        reason = process.why_over()
        was_in_turn = self._turn is not None
        if self._is_closing:
            self._cut_off("interrupted", "")
            return Ended("completed", "it was closed")
        self._cut_off("failed", reason)
        if process.status == 0 and self._opened and not was_in_turn:
            return Ended("completed", "its program ended by itself")
        return Ended("failed", reason)

    def _cut_off(self, how: _How, reason: str) -> None:
        if self._turn and self._turn.is_taken:
            self._finish(TurnOver(how=how, reason=reason, fails_session=how == "failed"))

    async def prompt(self, text: str) -> None:
        if self._turn:
            raise DriverError("it is in the middle of a turn.")
        self._reader.begin_turn()
        self._asking.begin_turn()
        self._services.begin_turn()
        self._client.is_in_turn = True
        self._client.stopped_at_refusal = False
        turn = self._turn = _Turn(text, self._context)
        self._client.acted = turn.take
        turn.task = asyncio.ensure_future(self._run_turn(turn))
        self._take_later(turn)

    def _take_later(self, turn: _Turn) -> None:
        def take() -> None:
            if self._turn is turn and self._process and self._process.is_alive:
                if self._process.has_written:
                    turn.take()
                else:
                    self._take_later(turn)

        asyncio.get_running_loop().call_later(TAKEN_SECONDS, take)

    async def _run_turn(self, turn: _Turn) -> None:
        connection, opened = self._live()
        try:
            response = await connection.prompt(
                session_id=opened.session_id, prompt=[acp.text_block(turn.text)]
            )
        except acp.RequestError as error:
            over = TurnOver(self._answer(), *self._failure(turn, error))
        except ValidationError:
            over = TurnOver(self._answer(), "failed", "its answer is not part of ACP")
        except ConnectionError:
            self._note_broken_connection()
            return  # ``run`` finds out how the program ended
        else:
            turn.take()
            answer = self._answer()
            turn_cost = self._reader.turn_cost if self._reader.reports_cost else None
            if used := used_in(response, turn_cost, self._reader.context):
                self._context.report(used)
            is_cut_off = turn.is_interrupted or self._client.stopped_at_refusal
            over = turn_over(response.stop_reason, answer, is_cut_off=is_cut_off)
            if self._reader.has_failed and over.how == "finished":
                over = TurnOver(answer, "failed", within_json(answer) or "it failed")
        self._finish(over)

    def _answer(self) -> str:
        """Report what was held back, and return the answer of the turn."""
        if self._turn:
            self._turn.take()
        self._client.report(self._reader.flush())
        return self._reader.answer

    def _failure(self, turn: _Turn, error: acp.RequestError) -> tuple[_How, str]:
        if turn.is_interrupted:
            return "interrupted", ""
        if error.code == AUTH_REQUIRED:
            return "failed", f"it is not signed in. {self._options.sign_in}".strip()
        return "failed", explain(error)

    def _finish(self, over: TurnOver) -> None:
        """End the turn: no question of it is open any more."""
        if self._turn:
            self._asking.withdraw()
            self._client.report([*self._reader.flush(), *self._reader.end_refused(), over])
            self._turn.over.set()
            self._client.is_in_turn = False
            self._client.acted = _nothing
            self._turn = None

    async def interrupt(self) -> None:
        connection, opened = self._live()
        if self._turn:
            self._turn.is_interrupted = True
            self._asking.withdraw()
            with suppress(ConnectionError):
                await connection.cancel(session_id=opened.session_id)

    async def close(self) -> None:
        self._is_closing = True
        if self._turn and self._opened:
            over = self._turn.over
            await self.interrupt()
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await over.wait()
        if self._process:
            await self._process.quit()

    def _live(self) -> tuple[ClientSideConnection, OpenedSession]:
        if self._connection is None or self._opened is None:
            raise DriverError("the agent is not up yet.")
        return self._connection, self._opened


class _Turn:
    """One prompt, from its sending to the end of the turn that it begins."""

    def __init__(self, text: str, context: DriverContext) -> None:
        self.text = text
        self.is_taken = False
        self.is_interrupted = False
        self.over = asyncio.Event()
        self.task: asyncio.Future[None] | None = None
        self._context = context

    def take(self) -> None:
        """Report once that the agent has the prompt."""
        if not self.is_taken:
            self.is_taken = True
            self._context.report(PromptTaken(self.text))


def _nothing() -> None:
    pass


def find_dialect(location: str) -> NameTool:
    """Return the function at ``module:function`` that names the tools of an agent."""
    if not location:
        return by_kind
    module, _, name = location.partition(":")
    name_tool: NameTool = getattr(import_module(module), name)
    return name_tool
