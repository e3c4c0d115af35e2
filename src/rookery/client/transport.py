"""Send requests to the daemon through its unix socket.

This module uses no HTTP library, because importing one would slow down every command.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rookery.client.request_paths import path_of, query_string
from rookery.model.errors import (
    Answered,
    HomeUnusable,
    NotRunning,
    TimedOut,
    Unreadable,
)
from rookery.processes.peers import peer_of

#: Maximum seconds without a byte from the daemon, besides the time that a request may wait.
ANSWER_TIMEOUT_S = 30.0

#: Commands that are sent without an idempotency key, by the last part of their path. They are
#: not retried: pressing keys or interrupting twice does harm, a new token's secret would be
#: stored with the key, and the others are harmless to repeat by hand.
_UNREPEATABLE = frozenset(
    {"keys", "interrupt", "stop", "backup", "discover", "prune", "tokens", "revoke"}
)

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class ConnectionLost(NotRunning):
    """The daemon stopped"""


@dataclass(frozen=True)
class OpenStream:
    """A streaming response of the daemon, such as the events."""

    connection: socket.socket
    request: bytes

    def texts(self) -> Iterator[str]:
        """Yield what the daemon sends, as ``Client.texts`` does."""
        try:
            with self.connection.makefile("rb") as answer:
                self.connection.sendall(self.request)
                if b" 200 " not in (first := answer.readline()):
                    _read(first + answer.read())  # raises the error that the answer describes
                for lines in _unchunked(answer):
                    yield lines.decode(errors="replace")
        except OSError as error:
            raise _connection_lost() from error

    def close(self) -> None:
        """End the stream: the thread that reads it gets ``ConnectionLost``."""
        with suppress(OSError):  # the daemon has closed it already
            self.connection.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Client:
    """Sends requests as untyped JSON. A request raises ``NotRunning`` if no daemon answers."""

    socket_path: Path  #: the daemon's socket
    badge: str = ""  #: the badge of the calling session; empty if the user calls
    timeout_s: float = ANSWER_TIMEOUT_S  #: for each read from the socket

    def can_connect(self) -> bool:
        """Return whether a daemon listens on the socket; nothing is sent to it."""
        try:
            self._connected().close()
        except NotRunning:
            return False
        except TimedOut:
            return True
        return True

    def get(self, *path: str, timeout: float = 0.0, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Send a GET request. The daemon may hold it for ``timeout`` seconds (long polling)."""
        if timeout:
            query["timeout"] = timeout
        target = f"{path_of(path)}?{query_string(query)}"
        return self._ask("GET", target, None, self.timeout_s + timeout)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        """Send a POST request.

        After a timeout it is sent once more with the same idempotency key, except for commands
        in ``_UNREPEATABLE``. Raises ``ConnectionLost`` if the connection is lost, and
        ``TimedOut`` if there is no answer; in both cases the command may have been executed.
        """
        key = "" if path[-1] in _UNREPEATABLE else os.urandom(16).hex()
        unknown = "The command may have been executed."
        try:
            return self._ask_twice(path_of(path), body, key)
        except ConnectionLost as error:
            advice = "Check first, and repeat it only if it was not."
            raise ConnectionLost(f"{error.args[0]} {unknown} {advice}") from error
        except TimedOut as error:
            advice = f"Before you repeat it, check with:  {_where_to_look(path)}"
            raise TimedOut(f"{error.args[0]} {unknown} {advice}") from error

    def _ask_twice(self, path: str, body: Mapping[str, object], key: str) -> Any:  # noqa: ANN401 - JSON
        try:
            return self._ask("POST", path, body, self.timeout_s, key)
        except TimedOut:
            if not key:
                raise
            return self._ask("POST", path, body, self.timeout_s, key)

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        timeout_s: float,
        key: str = "",
    ) -> Any:  # noqa: ANN401 - JSON
        content = b"" if body is None else json.dumps(body).encode()
        request = self._head(method, path, len(content), key) + content
        try:
            answer = self._exchange(request, timeout_s)
        except TimeoutError as error:
            raise TimedOut(f"{timeout_s:g} s.") from error
        except OSError as error:
            raise _connection_lost() from error
        return _read(answer)

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        """Yield the lines of a stream."""
        for text in self.texts(*path, **query):
            for line in text.split("\n"):
                yield line.rstrip("\r")

    def texts(self, *path: str, **query: object) -> Iterator[str]:
        """Yield blocks of one or more complete lines, one for each chunk that completes a line.

        The last line break of a block is left out.
        """
        with self.opened(*path, **query) as stream:
            yield from stream.texts()

    @contextmanager
    def opened(self, *path: str, **query: object) -> Iterator[OpenStream]:
        """Open a stream that another thread may close."""
        target = f"{path_of(path)}?{query_string(query)}"
        with self._connected() as connection:
            yield OpenStream(connection, self._head("GET", target, 0))

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        # With settimeout, connect would fail at once while the daemon is slow to accept.
        seconds, fraction = divmod(self.timeout_s, 1)
        limit = struct.pack("ll", int(seconds), int(fraction * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        try:
            connection.connect(str(self.socket_path))
            self._check_peer(connection)
        except BlockingIOError as error:
            connection.close()
            raise TimedOut(f"{self.timeout_s:g} s.") from error
        except OSError as error:
            connection.close()
            raise NotRunning from error
        except HomeUnusable:
            connection.close()
            raise
        return connection

    def _check_peer(self, connection: socket.socket) -> None:
        """Refuse to send anything to a program of another user. Raises ``HomeUnusable``."""
        if not (peer := peer_of(connection)).is_ours:
            listener = f"a program of another user (uid {peer.uid})"
            raise HomeUnusable(
                f"{listener} listens at {self.socket_path}. Nothing was sent to it."
            )

    def _head(self, method: str, path: str, length: int, key: str = "") -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: rookery",
            "Connection: close",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        if key:
            lines.append(f"Idempotency-Key: {key}")
        if self.badge:
            lines.append(f"Authorization: Bearer {self.badge}")
        return "\r\n".join([*lines, "", ""]).encode()

    def _exchange(self, request: bytes, timeout_s: float) -> bytes:
        with self._connected() as connection:
            connection.settimeout(timeout_s)
            parts: list[bytes] = []
            # The daemon answers a request that is too big before it has read all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)
            with suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    parts.append(part)
        return b"".join(parts)


def _where_to_look(path: tuple[str, ...]) -> str:
    """Return the command that shows whether the daemon executed a request."""
    match path:
        case ("sessions", name, "messages"):
            return f"rookery inbox {shlex.quote(name)}"
        case ("permissions", *_):
            return "rookery permissions"
        case ("relays", *_):
            return "rookery relay ls"
        case ("sessions" | "listeners", *_):
            return "rookery ls --all"
        case _:
            return "rookery status"


def _connection_lost() -> ConnectionLost:
    return ConnectionLost("before it had answered.")


def _read(answer: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON of an answer. Raises ``Answered`` if it is an error."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not end or (length and len(body) < int(length[1])):
        raise _connection_lost()
    first = head.split(b"\r\n", 1)[0].split(b" ")
    try:
        status, value = int(first[1]), json.loads(body)
    except (IndexError, ValueError) as error:
        raise Unreadable from error
    if status >= 400:  # noqa: PLR2004 - the first HTTP error status
        match value:
            case {"error": {"code": "not-running"}}:
                raise _connection_lost()
            case {"error": {"code": str(code), "message": str(message), **more}}:
                raise Answered(code, message, **_details(more.get("details")))
            case _:
                raise Unreadable(f"({status})")
    return value


def _details(value: object) -> dict[str, str]:
    """Return the machine-readable details of an error; older daemons send none."""
    return (
        {str(name): str(detail) for name, detail in value.items()}
        if isinstance(value, dict)
        else {}
    )


def _unchunked(answer: IO[bytes]) -> Iterator[bytes]:
    """Yield the complete lines of a chunked body as they arrive."""
    while answer.readline().strip():
        pass  # the rest of the head
    waiting = b""
    while size := _size(answer.readline()):
        lines, end, rest = answer.read(size).rpartition(b"\n")
        answer.readline()
        if end:
            yield waiting + lines
            waiting = rest
        else:
            waiting += rest


def _size(line: bytes) -> int:
    """Return the size of the next chunk; the last one has 0 bytes."""
    if not line:
        raise _connection_lost()
    return int(line.split(b";")[0], 16)
