"""Drives Codex through ``codex app-server``, in JSON-RPC on its input and output.

One app-server per session: it has the session's environment, hooks and tools, and its end ends
one session only.
"""

from __future__ import annotations

import asyncio
import signal
from uuid import uuid4

from rookery.agents.codex.driver.app_server import introduce
from rookery.agents.codex.driver.events import NOTE_ID, CodexEvents
from rookery.agents.codex.driver.items import CodexCall
from rookery.agents.codex.driver.requests import CodexRequest
from rookery.drivers.driver import DriverContext, DriverError, DriverLaunch
from rookery.drivers.events import Asked, Ended, ToolBegan, TurnOver, Up
from rookery.drivers.json_fields import Fields, text_of
from rookery.drivers.json_rpc import RequestRefused, RpcClient
from rookery.drivers.open_questions import OpenQuestions
from rookery.drivers.server_process import ServerProcess

#: Notifications that would only be dropped: texts are reported whole.
_UNWANTED = (
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "item/plan/delta",
    "turn/diff/updated",
    "hook/started",
    "hook/completed",
)


#: Seconds for a program to end by itself whose output has ended, or is not understood.
EXIT_TIMEOUT_S = 1.0


class CodexDriver:
    """Drives one thread of Codex."""

    def __init__(self, launch: DriverLaunch, context: DriverContext) -> None:
        self._launch = launch
        self._context = context
        self._process: ServerProcess | None = None
        self._rpc: RpcClient | None = None
        self._events = CodexEvents("")
        self._thread = ""
        self._uses: dict[str, CodexCall] = {}  #: the tool calls of this turn
        self._questions = OpenQuestions()
        self._prompting = asyncio.Lock()
        self._is_closing = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def run(self) -> Ended:
        self._process = process = await ServerProcess.start(self._launch)
        try:
            return await self._drive(process)
        finally:
            await process.close()

    async def _drive(self, process: ServerProcess) -> Ended:
        self._rpc = rpc = RpcClient(process.output, process.input, self)
        reading = asyncio.create_task(rpc.read())
        # Its end closes its output, also if a program that it has started goes on.
        ending = asyncio.create_task(process.ended())
        try:
            await self._open_thread(rpc)
            await reading
        except RequestRefused:
            raise
        except DriverError as error:
            how = await self._wait_for_end(process, ending) if reading.done() else ""
            raise DriverError(" ".join(filter(None, (str(error), how)))) from error
        finally:
            reading.cancel()
            await self._questions.withdraw_all()
        return self._end(await self._wait_for_end(process, ending))

    async def _wait_for_end(self, process: ServerProcess, ending: asyncio.Task[str]) -> str:
        """Return how a program ended from which nothing more is read; kill it if it goes on."""
        await asyncio.wait({ending}, timeout=EXIT_TIMEOUT_S)
        if ending.done() or self._is_closing:
            return await ending
        process.send_signal(signal.SIGKILL)
        await ending
        return "The agent's program was killed: its output could not be read any more."

    def _end(self, how: str) -> Ended:
        """Report that a turn is cut off, and how the program ended."""
        is_wanted = self._is_closing
        cut_off = (
            TurnOver(how="interrupted")
            if is_wanted
            else TurnOver(how="failed", reason=how, fails_session=True)
        )
        for event in self._events.end(cut_off):
            self._context.report(event)
        return Ended("completed", "it was closed") if is_wanted else Ended("failed", how)

    async def _open_thread(self, rpc: RpcClient) -> None:
        """Start, resume or fork the thread, and report that Codex is up."""
        await introduce(rpc, unwanted=_UNWANTED)
        options = self._launch.options
        await rpc.call(options["method"], options["params"], accepted=self._thread_opened)

    def _thread_opened(self, result: Fields) -> None:
        match result:
            case {"thread": {"id": str(thread)} as details}:
                self._thread = thread
                self._events = CodexEvents(thread)
                model, path = text_of(result.get("model")), text_of(details.get("path"))
                self._context.report(Up(thread, model, path))
            case _:
                raise DriverError("Codex opened a thread without an id.")

    async def notified(self, method: str, params: Fields) -> None:
        """Report what a notification says."""
        await self._withdraw_settled(method, params)
        for event in self._events.read(method, params):
            match event:
                case ToolBegan(call, tool, given):
                    self._uses[call] = CodexCall(tool, given)
                case TurnOver():
                    self._uses.clear()
                case _:
                    pass
            self._context.report(event)

    def requested(self, number: int | str, method: str, params: Fields) -> None:
        """Pass a request of Codex on to the user, or refuse it."""
        request = CodexRequest(number, method, params)
        if asked := request.asked(self._uses, self._thread):
            answering = self._answer(request, asked)
            self._questions.begin(str(number), answering, subagent=asked.subagent)
        else:
            self._client.refuse(number, f"Rookery does not answer {method}.")

    async def _answer(self, request: CodexRequest, asked: Asked) -> None:
        answer = await self._context.ask(asked)
        if answer.message and not answer.allow and not request.is_question:
            self._note(f"The user refused the call: {answer.message}")
        self._client.reply(request.number, request.reply(answer))

    def _note(self, text: str) -> None:
        """Give the model the reason of a refusal, which the protocol's reply cannot carry."""
        params = {
            "threadId": self._thread,
            "expectedTurnId": self._events.turn,
            "input": _input(text),
            "clientUserMessageId": NOTE_ID,
        }
        self._client.send_request("turn/steer", params)

    async def _withdraw_settled(self, method: str, params: Fields) -> None:
        """Stop asking what Codex no longer waits for, before its next event is reported."""
        if method == "serverRequest/resolved":
            await self._questions.withdraw(str(params.get("requestId")))
        elif method == "turn/completed":
            # Subagents work in threads of their own, independently of the main agent's turns.
            thread = text_of(params.get("threadId"))
            await self._questions.withdraw_of("" if thread == self._thread else thread)

    async def prompt(self, text: str) -> None:
        async with self._prompting:
            if not await self._steer(text):
                await self._send_prompt("turn/start", text, {})

    async def _steer(self, text: str) -> bool:
        """Add a prompt to the running turn. False if no turn takes it."""
        if not (turn := self._events.turn):
            return False
        try:
            await self._send_prompt("turn/steer", text, {"expectedTurnId": turn})
        except RequestRefused:  # the turn has ended meanwhile, or is a review
            if self._events.turn == turn:
                raise
            return False
        return True

    async def _send_prompt(self, method: str, text: str, more: Fields) -> None:
        prompt = str(uuid4())

        def accepted(result: Fields) -> None:
            match result:
                case {"turn": {"id": str(turn)}} | {"turnId": str(turn)}:
                    self._events.accept(prompt, turn)
                case _:
                    pass

        self._events.expect(prompt, text)
        params = {
            "threadId": self._thread,
            "input": _input(text),
            "clientUserMessageId": prompt,
            **more,
        }
        try:
            await self._client.call(method, params, accepted=accepted)
        except RequestRefused:
            self._events.forget(prompt)
            raise

    async def interrupt(self) -> None:
        if turn := self._events.turn:
            params = {"threadId": self._thread, "turnId": turn}
            await self._client.call("turn/interrupt", params)

    async def close(self) -> None:
        """Close the input of the app-server: it then ends."""
        self._is_closing = True
        if process := self._process:
            process.input.close()
            await process.ended()

    @property
    def _client(self) -> RpcClient:
        assert self._rpc  # noqa: S101 - only used while ``run`` runs
        return self._rpc


def _input(text: str) -> list[Fields]:
    return [{"type": "text", "text": text}]
