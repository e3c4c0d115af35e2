"""Send requests to the daemon through its unix socket.

Without an HTTP library, because each command would wait for it to load.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode

from rookery.model.errors import Answered, HomeUnusable, NotRunning, TimedOut, Unreadable
from rookery.processes.peers import peer_of

#: Seconds to wait for an answer, beyond what a request itself waits for.
ANSWER_TIMEOUT_S = 30.0

#: The last part of the paths of commands that are not repeated under a key: keys would be
#: pressed twice, and the secret of a token would be stored.
_UNREPEATABLE = frozenset(
    {"keys", "interrupt", "stop", "backup", "discover", "prune", "tokens", "revoke"}
)

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class CutOff(NotRunning):
    """The daemon stopped"""


@dataclass(frozen=True)
class Client:
    """Sends requests as untyped JSON. Each raises ``NotRunning`` if no daemon answers."""

    socket_path: Path  #: of the daemon
    badge: str = ""  #: of the session that asks; empty for the user
    patience: float = ANSWER_TIMEOUT_S  #: seconds for an answer

    def get(self, *path: str, timeout: float = 0.0, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Ask a question. The daemon itself may wait ``timeout`` seconds for the answer."""
        if timeout:
            query["timeout"] = timeout
        words = _query(query)
        return self._ask("GET", f"{_path(path)}?{words}", None, self.patience + timeout)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        """Give a command. Raises ``CutOff`` if it is not known whether it was taken.

        If no answer comes in time it is sent once more under the same key, so that it is done
        once. Raises ``TimedOut`` if that is not answered either.
        """
        key = "" if path[-1] in _UNREPEATABLE else os.urandom(16).hex()
        try:
            try:
                return self._ask("POST", _path(path), body, self.patience, key)
            except TimedOut:
                if not key:
                    raise
                return self._ask("POST", _path(path), body, self.patience, key)
        except CutOff as error:
            unknown = (
                "It may have done this. Look first, and repeat it only if it was not done."
            )
            raise CutOff(f"{error.args[0]} {unknown}") from error
        except TimedOut as error:
            look = f"Look with:  {_where_to_look(path)}  before you repeat it."
            unknown = "It is not known whether it took this."
            raise TimedOut(f"{error.args[0]} {unknown} {look}") from error

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        patience: float,
        key: str = "",
    ) -> Any:  # noqa: ANN401 - JSON
        sent = b"" if body is None else json.dumps(body).encode()
        try:
            answer = self._exchange(self._head(method, path, len(sent), key) + sent, patience)
        except TimeoutError as error:
            raise TimedOut(f"{patience:g} s.") from error
        except OSError as error:
            raise _cut_off() from error
        return _read(answer)

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        """Yield the lines of a stream."""
        for text in self.texts(*path, **query):
            for line in text.split("\n"):
                yield line.rstrip("\r")

    def texts(self, *path: str, **query: object) -> Iterator[str]:
        """Yield the lines of a stream that came together, without the last line break."""
        words = _query(query)
        try:
            with self._connected() as connection, connection.makefile("rb") as answer:
                connection.sendall(self._head("GET", f"{_path(path)}?{words}", 0))
                if b" 200 " not in (first := answer.readline()):
                    _read(first + answer.read())
                for lines in _unchunked(answer):
                    yield lines.decode(errors="replace")
        except OSError as error:
            raise _cut_off() from error

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(self.socket_path))
            self._check_peer(connection)
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
            who = f"a program of another user (uid {peer.uid})"
            raise HomeUnusable(f"{who} listens at {self.socket_path}. Nothing was sent to it.")

    def _head(self, method: str, path: str, length: int, key: str = "") -> bytes:
        words = [
            f"{method} {path} HTTP/1.1",
            "Host: rookery",
            "Connection: close",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        if key:
            words.append(f"Idempotency-Key: {key}")
        if self.badge:
            words.append(f"Authorization: Bearer {self.badge}")
        return "\r\n".join([*words, "", ""]).encode()

    def _exchange(self, request: bytes, patience: float) -> bytes:
        with self._connected() as connection:
            connection.settimeout(patience)
            parts: list[bytes] = []
            # The daemon answers a request that is too big before it has read all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)
            with suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    parts.append(part)
        return b"".join(parts)


def _path(words: tuple[str, ...]) -> str:
    return "/v1/" + "/".join(quote(word, safe="") for word in words)


def _where_to_look(path: tuple[str, ...]) -> str:
    """Name the command that shows whether the daemon took a request."""
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


def _query(query: Mapping[str, object]) -> str:
    """Write a query string; a tuple is one parameter for each of its items."""
    several = {
        name: value if isinstance(value, tuple) else (value,) for name, value in query.items()
    }
    return urlencode([(name, _word(each)) for name, given in several.items() for each in given])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cut_off() -> CutOff:
    return CutOff("before it had answered.")


def _read(answer: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON of an answer. Raises ``Answered`` if it is an error."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not end or (length and len(body) < int(length[1])):
        raise _cut_off()
    first = head.split(b"\r\n", 1)[0].split(b" ")
    try:
        status, value = int(first[1]), json.loads(body)
    except (IndexError, ValueError) as error:
        raise Unreadable from error
    if status >= 400:  # noqa: PLR2004 - HTTP's own
        match value:
            case {"error": {"code": "not-running"}}:
                raise _cut_off()
            case {"error": {"code": str(code), "message": str(message), **more}}:
                raise Answered(code, message, **_details(more.get("details")))
            case _:
                raise Unreadable(f"({status})")
    return value


def _details(value: object) -> dict[str, str]:
    """Return what an error tells programs; an older daemon tells nothing."""
    return (
        {str(name): str(word) for name, word in value.items()}
        if isinstance(value, dict)
        else {}
    )


def _unchunked(answer: IO[bytes]) -> Iterator[bytes]:
    """Yield the complete lines of a chunked body as they come."""
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
        raise _cut_off()
    return int(line.split(b";")[0], 16)
