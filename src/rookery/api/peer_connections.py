"""HTTP connections: refuse other users, and limit the resources of unknown callers."""

from __future__ import annotations

import asyncio
import json
import socket
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from rookery.api.held_bodies import HeldBodies
from rookery.processes.peers import peer_of

#: The most bytes of a request's head, and seconds for it to arrive.
LONGEST_HEAD, HEAD_SECONDS = 64 * 1024, 10.0

#: Seconds for a request's body to arrive; its size has its own limit, and so have all together.
BODY_TIMEOUT_S = 60.0

#: Concurrent connections on loopback: browsers and programs of one user.
MAX_CONNECTIONS = 256

TOO_MUCH_AT_ONCE = "Too many large requests arrive at the same time. Try again in a moment."


class OurPeers(HttpToolsProtocol):
    """HTTP that closes connections of other users and of floods, and tells the app its peer.

    Every user of this computer can connect on loopback. Until a caller has shown a token, its
    connections are few, short-lived and small: each request has its own deadline, and when
    there are too many connections, the oldest unknown one is closed.
    """

    head_timeout_s: ClassVar[float] = HEAD_SECONDS
    body_timeout_s: ClassVar[float] = BODY_TIMEOUT_S
    max_head_bytes: ClassVar[int] = LONGEST_HEAD
    max_connections: ClassVar[int] = MAX_CONNECTIONS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        held: HeldBodies | None = None,
    ) -> None:
        """``held`` counts the bodies of all connections that share it."""
        super().__init__(config, server_state, app_state, _loop)
        self._held = held or HeldBodies()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head, self._head = True, 0  #: reading the head; its bytes so far
        self.opened_at = self.loop.time()
        self._is_refused = False  #: the body is dropped while it arrives
        self._was_known = False  #: an earlier request on this connection showed a token
        self._deadline: asyncio.TimerHandle | None = None
        self._allow(self.head_timeout_s)
        connection = transport.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            peer = peer_of(connection)
            self.client = ("unix", peer.pid)
            if not peer.is_ours:
                transport.abort()
        elif len(self.connections) > self.max_connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None:
            # Also for blank lines between two requests: they do not begin a request.
            self._allow(self.head_timeout_s)
        if self._in_head:
            self._head += len(data)
            # Data after the end of the head is body, which has its own limit.
            if self._head > self.max_head_bytes and b"\r\n\r\n" not in data:
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head, self._head = True, 0
        self._was_known = self.is_known
        self._allow(self.head_timeout_s)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        # The whole target: the path alone does not show a host in front of it.
        self.scope["target"] = self.url.decode("latin-1")  # type: ignore[typeddict-unknown-key]
        self._allow(self.body_timeout_s)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.cycle.response_complete:  # else it is not kept
            self._held.add(self, len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._end_deadline()
        self._held.release(self)
        super().on_message_complete()
        if self._is_refused:
            self.transport.close()

    def on_response_complete(self) -> None:
        self._held.release(self)
        super().on_response_complete()

    def refuse_body(self) -> None:
        """Answer that too much arrives at the same time, and drop what this body still sends.

        The connection stays open until the body ends or its time is over: most clients read
        the answer only then.
        """
        cycle = self.cycle
        if cycle.response_started or self.pipeline:  # an answer would be taken for another one
            self.transport.close()
            return
        self._is_refused = True
        self._write_error(HTTPStatus.SERVICE_UNAVAILABLE, "busy", TOO_MUCH_AT_ONCE)
        cycle.body = bytearray()
        # The application sees that the client has left, and uvicorn keeps no more of the body.
        cycle.disconnected = cycle.response_complete = True
        cycle.message_event.set()
        self.flow.resume_reading()

    def handle_websocket_upgrade(self) -> None:
        self._end_deadline()
        self._held.release(self)
        if not self.url.startswith(b"/"):
            self.send_400_response("The request's target is not this server.")
            return
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the usual form of errors."""
        self._write_error(HTTPStatus.BAD_REQUEST, "bad-input", msg)
        self.transport.close()

    def _write_error(self, status: HTTPStatus, code: str, message: str) -> None:
        body = json.dumps({"error": {"code": code, "message": message}}).encode()
        usual = [b"%b: %b" % each for each in self.server_state.default_headers]
        head = [
            f"HTTP/1.1 {status} {status.phrase}".encode(),
            *usual,
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join([*head, b"", body]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        self._held.release(self)
        super().connection_lost(exc)

    @property
    def is_known(self) -> bool:
        """Return whether a request here passed the guard, which sets the identity."""
        return self._was_known or (self.scope is not None and "identity" in self.scope)

    def _allow(self, seconds: float) -> None:
        """Close the connection unless the next part of the request arrives in time."""
        self._end_deadline()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _end_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """Close the oldest connection that has shown no token; if all have, the new one."""
        others = (each for each in self.connections if isinstance(each, OurPeers))
        unknown = (each for each in others if not each.is_known and each is not self)
        oldest = min(unknown, key=lambda each: each.opened_at, default=self)
        oldest.transport.abort()
        self.connections.discard(oldest)
