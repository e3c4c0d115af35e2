"""Forward an agent's MCP requests from standard input to the daemon, and return the answers.

The agent runs ``python -I -S mcp_bridge.py SOCKET`` as its MCP server. Each line is a JSON-RPC
message. The daemon may restart meanwhile: the bridge repeats a request under the same key, so
that it is neither lost nor carried out twice.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

#: Seconds to wait for a daemon that is not running.
RESTART_TIMEOUT_SECONDS = 60.0

#: Seconds between two attempts to reach the daemon.
RETRY_SECONDS = 0.2

#: Seconds for a running daemon to answer.
ANSWER_TIMEOUT_SECONDS = 120.0

#: The field in which each request of a newer protocol names its version. With an older
#: protocol, only ``initialize`` names the version.
VERSION = "io.modelcontextprotocol/protocolVersion"

#: JSON-RPC error codes.
UNREADABLE, FAILED = -32700, -32000

AWAY = (
    f"The Rookery daemon did not answer within {RESTART_TIMEOUT_SECONDS:g} s. "
    "Start it with:  rookery up  Then look whether this was done before you ask for it again."
)

#: The error code of a daemon that is stopping and has not carried out the request.
STOPS = b'"not-running"'


class Away(Exception):
    """The daemon sent no complete answer."""


class Bridge:
    """Sends each request on its own connection, so that requests do not wait for each other."""

    def __init__(self, door: str, badge: str) -> None:
        self._door = door
        self._badge = badge
        self._name = os.urandom(12).hex()
        self._count = 0
        self._version = ""  #: the version agreed on in ``initialize``, in older protocols
        self._writing = threading.Lock()
        self._under_way: list[threading.Thread] = []

    def run(self) -> None:
        """Serve until the end of standard input, and until all requests are answered."""
        for line in sys.stdin.buffer:
            if line.strip():
                self._handle_line(line)
        for thread in self._under_way:
            thread.join()

    def _handle_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write_line(_error(None, UNREADABLE, "This line is no JSON."))
            return
        if isinstance(message, dict) and ("id" not in message or "method" not in message):
            return  # a notification or a response: the daemon keeps no state for it to change
        self._count += 1
        key = f"{self._name}-{self._count}"
        thread = threading.Thread(target=self._ask, args=(line.strip(), message, key))
        self._under_way = [*(each for each in self._under_way if each.is_alive()), thread]
        thread.start()

    def _ask(self, line: bytes, message: Any, key: str) -> None:  # noqa: ANN401 - JSON
        call = message if isinstance(message, dict) else {}
        request = self._head(call, key, len(line)) + line
        try:
            answer = self._retry(request)
        except Away:
            self._write_line(_error(call.get("id"), FAILED, AWAY))
        except TimeoutError:
            late = f"The Rookery daemon did not answer within {ANSWER_TIMEOUT_SECONDS:g} s."
            self._write_line(_error(call.get("id"), FAILED, late))
        else:
            self._write_line(self._read(call, answer))

    def _head(self, request: dict[str, Any], key: str, length: int) -> bytes:
        words = [
            "POST /mcp HTTP/1.1",
            "Host: rookery",
            "Connection: close",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {length}",
            f"Idempotency-Key: {key}",
        ]
        if self._badge:
            words.append(f"Authorization: Bearer {self._badge}")
        words += self._protocol_headers(request)
        return "\r\n".join([*words, "", ""]).encode()

    def _protocol_headers(self, request: dict[str, Any]) -> list[str]:
        """Return the headers that, by the protocol, must repeat fields of the request."""
        call_params = request.get("params")
        params = call_params if isinstance(call_params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(VERSION) if isinstance(meta, dict) else None
        if version is None:
            return [f"MCP-Protocol-Version: {self._version}"] if self._version else []
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": request.get("method")}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        return [f"{name}: {_as_header(value)}" for name, value in headers.items()]

    def _retry(self, request: bytes) -> bytes:
        """Repeat the request until the daemon answers. Raises ``Away``."""
        over = time.monotonic() + RESTART_TIMEOUT_SECONDS
        while True:
            try:
                return self._exchange(request)
            except Away:
                if time.monotonic() > over:
                    raise
            time.sleep(RETRY_SECONDS)  # noqa: TID251 - a standalone program with nothing to wait for

    def _exchange(self, request: bytes) -> bytes:
        """Return the body of a complete answer."""
        answer = b""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_TIMEOUT_SECONDS)
            try:
                connection.connect(self._door)
                _check_peer(connection)
                with suppress(BrokenPipeError, ConnectionResetError):
                    # The daemon cuts off a request that is too large, and its answer says so.
                    connection.sendall(request)
                while part := connection.recv(65536):
                    answer += part
            except TimeoutError:
                raise
            except OSError as error:
                raise Away from error
        head, end, body = answer.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head) or _is_stopping(head, body):
            raise Away
        return body

    def _read(self, request: dict[str, Any], body: bytes) -> bytes:
        try:
            answer: dict[str, Any] = json.loads(body)
        except ValueError:
            return _error(
                request.get("id"), FAILED, "The Rookery daemon's answer is unreadable."
            )
        error = answer.get("error")
        if error and answer.get("id") is None:
            # The daemon refused the request before it parsed it, or could not parse it.
            refused = error.get("message", "The Rookery daemon refused this.")
            return _error(request.get("id"), FAILED, refused)
        if request.get("method") == "initialize" and "result" in answer:
            self._version = str(answer["result"].get("protocolVersion", ""))
        return body

    def _write_line(self, answer: bytes) -> None:
        with self._writing:
            try:
                sys.stdout.buffer.write(answer.replace(b"\n", b" ") + b"\n")
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                os._exit(0)  # the agent has closed its end


def _check_peer(connection: socket.socket) -> None:
    """Raise ``OSError`` if another user's program listens: it must not get the badge."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
            raise OSError


def _is_stopping(head: bytes, body: bytes) -> bool:
    return head.split(b" ", 2)[1] == b"503" and STOPS in body


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0


def _as_header(value: object) -> str:
    """Return a value without the characters that could end a header or begin another."""
    return "".join(each for each in str(value) if " " <= each <= "~")[:200]


def _error(number: object, code: int, message: str) -> bytes:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()


def serve(door: str) -> None:
    """Serve the agent that started this program, as the session whose badge it has."""
    try:
        Bridge(door, os.environ.get("ROOKERY_BADGE", "")).run()
    except KeyboardInterrupt:
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
