"""Drives OpenCode through ``opencode serve``: HTTP, and a stream of events.

Each session has a server of its own on loopback, with its own password: without a password,
every local user could answer the server's requests for permissions.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2

from rookery.agents.opencode.driver.events import OpenCodeEvents
from rookery.agents.opencode.driver.interrupt_gate import InterruptGate
from rookery.agents.opencode.driver.server_output import drain, read_address
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.driver import AnswerLost, DriverContext, DriverError, DriverLaunch
from rookery.drivers.events import Asked, Ended, TurnOver, Up
from rookery.drivers.json_fields import Fields, fields_of
from rookery.drivers.open_questions import OpenQuestions
from rookery.drivers.server_process import ServerProcess

#: The variable with the password of the server, and the user that goes with it.
PASSWORD_VARIABLE, USER = "OPENCODE_SERVER_PASSWORD", "opencode"

#: Seconds for one answer: while the server starts, when it may never answer, and later.
EARLY_TIMEOUT_S, REQUEST_TIMEOUT_S = 2.0, 30.0

#: Seconds for the server to end after its connection broke.
END_TIMEOUT_S = 0.5

#: Seconds after which a prompt that the server has accepted counts as taken.
ECHO_TIMEOUT_S = 3.0


_ASKING = frozenset({"permission.asked", "question.asked"})
_SETTLED = frozenset({"permission.replied", "question.replied", "question.rejected"})


#: Errors before a request was sent.
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class OpenCodeDriver:
    """Drives one conversation of OpenCode."""

    def __init__(self, launch: DriverLaunch, context: DriverContext) -> None:
        self._password = secrets.token_urlsafe(32)
        # OpenCode works in the folder that PWD names, whatever its working directory is.
        added = {PASSWORD_VARIABLE: self._password, "PWD": str(launch.folder)}
        self._launch = replace(launch, environment={**launch.environment, **added})
        self._context = context
        self._process: ServerProcess | None = None
        self._http: httpx2.AsyncClient | None = None
        self._events = OpenCodeEvents("")
        self._session = ""
        self._questions = OpenQuestions()
        self._gate = InterruptGate()
        self._echoes: set[asyncio.TimerHandle] = set()
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
        ending = asyncio.create_task(process.ended())
        working = asyncio.create_task(self._work(process))
        await asyncio.wait((ending, working), return_when=asyncio.FIRST_COMPLETED)
        # The end of the process also breaks the connection.
        await asyncio.wait((ending,), timeout=END_TIMEOUT_S)
        working.cancel()
        await asyncio.wait((working,))
        await self._questions.withdraw_all()
        if not ending.done():
            ending.cancel()
            self._cut_off("the connection to OpenCode has ended.")
            working.result()
        how = await ending
        self._cut_off(how)
        return Ended("completed", "it was closed") if self._is_closing else Ended("failed", how)

    def _cut_off(self, reason: str) -> None:
        """Report that the end of the program cuts a turn off."""
        for each in self._echoes:
            each.cancel()
        how = (
            TurnOver(how="interrupted")
            if self._is_closing
            else TurnOver(how="failed", reason=reason, fails_session=True)
        )
        for event in self._events.end(how):
            self._context.report(event)

    async def _work(self, process: ServerProcess) -> None:
        address = await read_address(process)
        draining = asyncio.create_task(drain(process))
        try:
            async with httpx2.AsyncClient(
                base_url=address,
                auth=(USER, self._password),
                timeout=REQUEST_TIMEOUT_S,
                trust_env=False,  # a proxy must not see the password
            ) as self._http:
                await self._until_ready()
                await self._follow_events()
        finally:
            self._gate.close()
            draining.cancel()

    async def _follow_events(self) -> None:
        async with self._event_lines() as lines:
            await self._open_conversation()
            self._gate.connect(self._client)
            async for line in lines:
                await self._take(line)
        raise DriverError("the stream of OpenCode's events has ended.")

    async def _until_ready(self) -> None:
        """Ask until the server answers: the first request may be lost while it starts."""
        while True:
            try:
                await self._client.get("/session", timeout=EARLY_TIMEOUT_S)
            except httpx2.TransportError:
                continue
            return

    @asynccontextmanager
    async def _event_lines(self) -> AsyncIterator[AsyncIterator[str]]:
        try:
            async with self._client.stream("GET", "/event", timeout=None) as response:
                lines = response.aiter_lines()
                await anext(lines)  # the first line: the stream is connected
                yield lines
        except httpx2.TransportError as error:
            raise DriverError(f"the stream of OpenCode's events broke: {error}") from error

    async def _open_conversation(self) -> None:
        """Create, resume or fork the conversation, and report that OpenCode is up."""
        options = self._launch.options
        if resumed := options.get("resumes"):
            found = await self._ask("GET", f"/session/{resumed}")
        elif forked := options.get("forks"):
            found = await self._ask("POST", f"/session/{forked}/fork", {})
        else:
            found = await self._ask("POST", "/session", {})
        session = found.get("id")
        if not isinstance(session, str):
            raise DriverError("OpenCode opened a conversation without an id.")
        self._session, self._events = session, OpenCodeEvents(session)
        self._context.report(Up(session, str(options.get("model") or "")))

    async def _take(self, line: str) -> None:
        """Report what one line of the stream says."""
        if not line.startswith("data:"):
            return
        try:
            event = json.loads(line[len("data:") :])
        except ValueError as error:
            raise DriverError(
                f"OpenCode sent an event that is no JSON: {line[:200]}"
            ) from error
        match event:
            case {"type": str(kind), "properties": {} as properties}:
                await self._take_event(kind, properties)
            case _:
                pass

    async def _take_event(self, kind: str, properties: Fields) -> None:
        if kind in _ASKING and (asked := self._events.asked(kind, properties)):
            self._begin_asking(kind, asked, properties)
        # Questions that OpenCode no longer asks are withdrawn before its event is reported.
        elif kind in _SETTLED:
            await self._questions.withdraw(str(properties.get("requestID")))
        elif kind == "session.idle" and properties.get("sessionID") == self._session:
            await self._questions.withdraw_all()
        elif kind == "session.status" and properties.get("sessionID") == self._session:
            self._gate.note_status(properties)
        for event in self._events.read(kind, properties):
            self._context.report(event)

    def _begin_asking(self, kind: str, asked: Asked, properties: Fields) -> None:
        if kind == "question.asked":
            answering = self._answer_question(asked, properties)
        else:
            answering = self._answer_permission(asked)
        self._questions.begin(asked.request, answering)

    async def _answer_permission(self, asked: Asked) -> None:
        answer = await self._context.ask(asked)
        said: dict[str, str] = {"reply": "once" if answer.allow else "reject"}
        if answer.message and not answer.allow:
            said["message"] = answer.message
        await self._ask("POST", f"/permission/{asked.request}/reply", said)

    async def _answer_question(self, asked: Asked, properties: Fields) -> None:
        answer = await self._context.ask(asked)
        path = f"/question/{asked.request}"
        if not answer.allow:
            await self._ask("POST", f"{path}/reject", {})
            return
        await self._ask("POST", f"{path}/reply", {"answers": _answers(answer, properties)})

    async def prompt(self, text: str) -> None:
        options = self._launch.options
        body: dict[str, Any] = {"parts": [{"type": "text", "text": text}]}
        provider, _, model = str(options.get("model") or "").partition("/")
        if model:
            body["model"] = {"providerID": provider, "modelID": model}
        if system := options.get("system_prompt"):
            body["system"] = system
        self._events.expect(text)
        try:
            await self._ask("POST", f"/session/{self._session}/prompt_async", body)
        except AnswerLost:
            raise  # OpenCode may repeat the text
        except DriverError:
            self._events.forget(text)
            raise
        self._take_after_a_while(text)

    def _take_after_a_while(self, text: str) -> None:
        """Report a prompt that the server has accepted and does not repeat."""

        def take() -> None:
            self._echoes.discard(timer)
            for event in self._events.take(text):
                self._context.report(event)

        timer = asyncio.get_running_loop().call_later(ECHO_TIMEOUT_S, take)
        self._echoes.add(timer)

    async def interrupt(self) -> None:
        turn = self._events.turn
        await self._gate.until_open(awaits_turn=self._events.has_prompt)
        if self._events.turn == turn:  # otherwise an abort would end the next turn
            self._events.expect_abort()
            await self._ask("POST", f"/session/{self._session}/abort", {})

    async def close(self) -> None:
        """End the server by a signal, which it may ignore: then the driver host kills it."""
        self._is_closing = True
        self._events.expect_abort()
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            await self._process.ended()

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Fields:
        """Send a request and return its answer. Raises ``DriverError``, ``AnswerLost``."""
        try:
            answer = await self._client.request(method, path, json=body)
        except _UNSENT as error:
            raise DriverError(f"OpenCode's server cannot be reached: {error}") from error
        except httpx2.TransportError as error:
            raise AnswerLost(f"OpenCode's server does not answer: {error}") from error
        if answer.is_error:
            raise DriverError(
                f"OpenCode refused {method} {path} with HTTP status {answer.status_code}:"
                f" {answer.text[:500]}"
            )
        return fields_of(answer.json() if answer.content else {})

    @property
    def _client(self) -> httpx2.AsyncClient:
        assert self._http  # noqa: S101 - only used while ``run`` runs
        return self._http


def _answers(answer: AgentAnswer, properties: Fields) -> list[list[str]]:
    """Return the answers to each question, in the order of the questions."""
    none = " ".join(filter(None, ("No answer.", answer.message)))
    questions = properties.get("questions")
    return [
        list(answer.answers.get(str(each.get("question")), (none,)))
        for each in (questions if isinstance(questions, list) else ())
        if isinstance(each, dict)
    ]
