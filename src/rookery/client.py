"""Speaks to a daemon through its unix socket; small, because every command waits for it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from rookery.model.errors import Answered, NotRunning, Unreadable

#: Seconds to wait for an answer, beyond what a request itself waits for.
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Client:
    door: Path

    def get(self, *path: str, timeout: float = 0.0, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Ask a question. ``timeout`` is how long the daemon itself may wait for the answer."""
        if timeout:
            query["timeout"] = timeout
        words = urlencode({name: _word(value) for name, value in query.items()})
        return self._ask("GET", f"{_path(path)}?{words}", None, PATIENCE + timeout)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        """Give a command."""
        return self._ask("POST", _path(path), body, PATIENCE)

    def _ask(
        self, method: str, path: str, body: Mapping[str, object] | None, patience: float
    ) -> Any:  # noqa: ANN401 - JSON
        sent = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: rookery\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        try:
            answer = self._exchange(head.encode() + sent, patience)
        except TimeoutError as error:
            raise Unreadable(f"it did not answer within {patience:g} s.") from error
        except OSError as error:
            raise NotRunning from error
        return _read(answer)

    def _exchange(self, request: bytes, patience: float) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience)
            connection.connect(str(self.door))
            connection.sendall(request)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


def _path(words: tuple[str, ...]) -> str:
    return "/v1/" + "/".join(quote(word, safe="") for word in words)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(answer: bytes) -> Any:  # noqa: ANN401 - JSON
    """Take an answer apart; an error is raised as what it is."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first = head.split(b"\r\n", 1)[0].split(b" ")
    try:
        status, value = int(first[1]), json.loads(body)
    except (IndexError, ValueError) as error:
        raise Unreadable from error
    if status >= 400:  # noqa: PLR2004 - HTTP's own
        match value:
            case {"error": {"code": str(code), "message": str(message)}}:
                raise Answered(code, message)
            case _:
                raise Unreadable(f"({status})")
    return value
