"""JSON-RPC to a real daemon: one connection on its socket, which stays open."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Self

from tests.support.real.rookery import SOON, Rookery


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("rookery", timeout=SOON)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SOON)
        self.sock.connect(self._path)


class RpcConnection:
    """Sends bodies to ``/rpc`` as the owner."""

    def __init__(self, rookery: Rookery) -> None:
        self._connection = _UnixConnection(str(rookery.home.door))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()

    def post(self, body: bytes) -> tuple[int, Any]:
        """Send a body as it is; return the status and the JSON of the answer."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/rpc", body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def result(self, method: str, /, **params: object) -> Any:  # noqa: ANN401 - JSON
        """Call a method; return its result."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        _, reply = self.post(json.dumps(call).encode())
        assert "result" in reply, reply
        return reply["result"]
