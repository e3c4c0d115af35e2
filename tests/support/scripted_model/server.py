"""A server of scripted models on this computer, for as long as a test needs it."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Lock, Thread
from typing import Any, Self, TypeAlias

from tests.support.scripted_model.exchange import Exchange
from tests.support.scripted_model.log import Log
from tests.support.scripted_model.stage import Stage

_HOST = "127.0.0.1"

#: Seconds between two looks at whether to stop.
_BEAT = 0.05

#: What the standard library calls a request: here always a connection.
_Connection: TypeAlias = socket | tuple[bytes, socket]


class _Listener(ThreadingHTTPServer):
    """Knows its connections, so that it can end them; it waits for their threads."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int, stage: Stage) -> None:
        self._lock = Lock()
        self._connections: set[socket] = set()
        super().__init__((_HOST, port), partial(Exchange, stage))

    def get_request(self) -> tuple[socket, Any]:
        connection, address = super().get_request()
        with self._lock:
            self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: _Connection) -> None:
        with self._lock:
            self._connections -= {request}
        super().shutdown_request(request)

    def handle_error(self, request: _Connection, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(SHUT_RDWR)


class ModelServer:
    """Speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini.

    It listens from the beginning, and answers between ``start`` and ``stop``.
    """

    def __init__(self, port: int = 0) -> None:
        self._stage = Stage()
        self._listener = _Listener(port, self._stage)
        self._thread = Thread(target=self._listener.serve_forever, args=(_BEAT,), name="models")
        self.url = f"http://{_HOST}:{self._listener.server_port}"

    @property
    def log(self) -> Log:
        return self._stage.log

    def open_gate(self, name: str) -> None:
        """Let pass who waits there, and who will."""
        self._stage.gate(name).set()

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every request, and return when none is left."""
        self._stage.over.set()
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        self._listener.hang_up()
        self._listener.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
