"""The messages of the demo agent over ACP: JSON-RPC on two descriptors, without threads."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections import deque
from itertools import count
from typing import Any

Message = dict[str, Any]

_CHUNK_BYTES = 65_536

#: The error code for a request that arrives while a turn runs.
BUSY = -32600


class Cancelled(Exception):
    """The client has cancelled the turn."""


class RequestFailed(Exception):
    """A request has failed, the client's or the demo agent's own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Messages:
    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._unread = b""
        self._waiting: deque[Message] = deque()
        self._numbers = count(1)

    def receive(self) -> Message | None:
        """Return the next message; ``None`` after the last one."""
        while not self._waiting:
            self._read()
        return self._waiting.popleft() or None

    def wait(self, session: str, seconds: float) -> None:
        """Wait, and let the client cancel the turn of a session. Raises ``Cancelled``."""
        end = time.monotonic() + seconds
        while True:
            self._take_waiting(session)
            rest = max(end - time.monotonic(), 0)
            if not select.select([self._source], [], [], rest)[0]:
                return
            self._read()

    def request(self, session: str, method: str, parameters: Message) -> Any:  # noqa: ANN401
        """Ask the client, and return its answer. Raises ``RequestFailed``, ``Cancelled``."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": parameters})
        is_cancelled = False
        while True:
            message = self.receive()
            if message is None:
                sys.exit(0)  # the client has gone
            if message.get("id") == number and "method" not in message:
                if is_cancelled:
                    raise Cancelled
                if error := message.get("error"):
                    raise RequestFailed(int(error["code"]), str(error["message"]))
                return message.get("result")
            # A cancelled request is answered, too: the turn ends after that.
            is_cancelled = self._is_cancelled(message, session) or is_cancelled

    def _take_waiting(self, session: str) -> None:
        while self._waiting:
            message = self._waiting.popleft()
            if not message:
                sys.exit(0)  # the client has gone
            if self._is_cancelled(message, session):
                raise Cancelled

    def _is_cancelled(self, message: Message, session: str) -> bool:
        """Return whether a message cancels the turn; refuse a message that is a request."""
        if "id" in message and "method" in message:
            self.fail(message["id"], RequestFailed(BUSY, "the agent is in a turn"))
        is_cancel = message.get("method") == "session/cancel"
        return is_cancel and message.get("params", {}).get("sessionId") == session

    def _read(self) -> None:
        """Queue the messages that have arrived; at the end of the input, an empty message."""
        chunk = os.read(self._source, _CHUNK_BYTES)
        if not chunk:
            self._waiting.append({})
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        self._waiting.extend(json.loads(line) for line in lines if line.strip())

    def respond(self, number: object, result: Message) -> None:
        self._send({"id": number, "result": result})

    def fail(self, number: object, error: RequestFailed) -> None:
        self._send({"id": number, "error": {"code": error.code, "message": str(error)}})

    def notify(self, method: str, parameters: Message) -> None:
        self._send({"method": method, "params": parameters})

    def _send(self, message: Message) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        while line:
            line = line[os.write(self._target, line) :]
