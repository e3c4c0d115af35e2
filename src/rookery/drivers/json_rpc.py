"""A client of a server that speaks JSON-RPC in lines, without the version field."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rookery.drivers.driver import AnswerLost, DriverError
from rookery.drivers.json_fields import Fields, fields_of

#: The code of an error for a method that the client does not have.
METHOD_NOT_FOUND = -32601

#: Characters of a line that an error message quotes.
_QUOTED_CHARS = 200


class RequestRefused(DriverError):
    """The server refused a request; the text is the server's."""


class RpcHandler(Protocol):
    """Takes what the server sends by itself, in the order in which it was sent."""

    async def notified(self, method: str, params: Fields) -> None:
        """Take a notification; the next one waits meanwhile."""
        ...

    def requested(self, number: int | str, method: str, params: Fields) -> None:
        """Take a request, which ``RpcClient.reply`` or ``refuse`` answers later."""
        ...


def _ignore(result: Fields) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _OpenCall:
    """A request that the server has not answered."""

    future: asyncio.Future[Fields]
    accepted: Callable[[Fields], None]


class RpcClient:
    """Sends requests to a server, and passes on what it sends."""

    def __init__(
        self, output: asyncio.StreamReader, input_: asyncio.StreamWriter, handler: RpcHandler
    ) -> None:
        self._output = output
        self._input = input_
        self._handler = handler
        self._number = 0
        self._waiting: dict[int, _OpenCall] = {}
        self._is_over = False

    async def read(self) -> None:
        """Pass on what the server sends, until its output ends. Raises ``DriverError``."""
        try:
            while line := await self._read_line():
                if line.strip():
                    await self._take(_parse(line))
        finally:
            self._is_over = True
            for number in self._waiting:
                self._settle(number, error=AnswerLost("the agent's program has ended."))

    async def _read_line(self) -> bytes:
        try:
            return await self._output.readline()
        except ValueError as error:  # asyncio's error for a line beyond the limit
            raise DriverError("the agent sent a line that is far too long.") from error

    async def _take(self, message: Fields) -> None:
        match message:
            case {"method": str(method), "id": int() | str() as number}:
                self._handler.requested(number, method, fields_of(message.get("params")))
            case {"method": str(method)}:
                await self._handler.notified(method, fields_of(message.get("params")))
            case {"id": int(number), "error": error}:
                self._settle(number, error=RequestRefused(_error_text(error)))
            case {"id": int(number)}:
                self._settle(number, result=fields_of(message.get("result")))
            case _:
                raise DriverError("the agent sent a line that is no message.")

    def _settle(
        self, number: int, *, result: Fields | None = None, error: DriverError | None = None
    ) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.future.done():
            return
        if error is None:
            # At once: the next lines of the server may be about what it has accepted here.
            waiting.accepted(result or {})
            waiting.future.set_result(result or {})
        else:
            waiting.future.set_exception(error)

    async def call(
        self, method: str, params: Fields, accepted: Callable[[Fields], None] = _ignore
    ) -> Fields:
        """Send a request and return its result. Raises ``RequestRefused``, ``DriverError``.

        ``accepted`` is called with the result before anything that the server sends after it
        is passed on.
        """
        if self._is_over:
            raise DriverError("the agent's program has ended.")
        self._number += 1
        number = self._number
        waiting = _OpenCall(asyncio.get_running_loop().create_future(), accepted)
        self._waiting[number] = waiting
        try:
            self._send({"id": number, "method": method, "params": params})
            return await waiting.future
        finally:
            del self._waiting[number]

    def send_request(self, method: str, params: Fields) -> None:
        """Send a request whose result does not matter."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})

    def notify(self, method: str) -> None:
        self._send({"method": method})

    def reply(self, number: int | str, result: Fields) -> None:
        """Answer a request of the server."""
        self._send({"id": number, "result": result})

    def refuse(self, number: int | str, message: str, code: int = METHOD_NOT_FOUND) -> None:
        """Answer a request of the server with an error."""
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: Fields) -> None:
        # JSON with ASCII only: a lone surrogate in a text then needs no encoding.
        if not self._input.is_closing():
            self._input.write(json.dumps(message).encode() + b"\n")


def _parse(line: bytes) -> Fields:
    try:
        message = json.loads(line)
    except ValueError as error:
        start = line[:_QUOTED_CHARS].decode(errors="replace").strip()
        raise DriverError(f"the agent sent a line that is no JSON: {start}") from error
    if not isinstance(message, dict):
        raise DriverError("the agent sent a line that is no message.")
    return message


def _error_text(error: object) -> str:
    match error:
        case {"message": str(text)} if text:
            return text
        case _:
            return f"the agent refused a request: {json.dumps(error)[:_QUOTED_CHARS]}"
