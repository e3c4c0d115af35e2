from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from rookery.client import Client, ConnectionLost
from rookery.client.streams import read_events, read_screens

pytestmark = pytest.mark.spec("I4")

SOON_S = 20.0


class Server:
    """A daemon that streams the chunks that a test gives it."""

    def __init__(self, folder: Path) -> None:
        self.door = folder / "door"
        self.asked = b""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.door))
        self._listening.listen()
        self._connection: socket.socket | None = None
        self._is_there = Event()
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        self._connection, _ = self._listening.accept()
        self.asked = self._connection.recv(65536)
        self._connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        self._is_there.set()

    def send(self, text: str) -> None:
        assert self._is_there.wait(SOON_S)
        assert self._connection
        content = text.encode()
        self._connection.sendall(b"%x\r\n%s\r\n" % (len(content), content))

    def close(self) -> None:
        self._listening.close()
        if self._connection:
            self._connection.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def test_events_are_read_and_their_content_on_demand(server: Server) -> None:
    texts = [
        'id: 7\r\nevent: turn-started\r\ndata: {"session": "a", "prompt": "x"}\r\n\r\n',
        ': ping\r\n\r\nid: 8\r\nevent: deliveries-held\r\ndata: {"by": "person"}\r\n\r\n',
    ]
    with Client(server.door).opened("events", after=6) as stream:
        events = read_events(stream.texts())
        Thread(target=server.send, args=("".join(texts),), daemon=True).start()

        found = [next(events), next(events)]
        assert [(each.seq, each.kind, each.session) for each in found] == [
            (7, "turn-started", "a"),
            (8, "deliveries-held", ""),
        ]
        assert (found[0].fact.prompt, found[1].fact.by) == ("x", "person")
    assert server.asked.startswith(b"GET /v1/events?after=6 ")


def test_screens_are_read_as_lines(server: Server) -> None:
    with Client(server.door).opened("sessions", "a", "frames") as stream:
        screens = read_screens(stream)
        frame = 'event: screen\r\ndata: {"lines": ["one", "two"]}\r\n\r\n'
        Thread(target=server.send, args=(frame,), daemon=True).start()

        assert next(screens) == ("one", "two")


def test_another_thread_ends_a_stream(server: Server) -> None:
    ended = Event()

    def follow() -> None:
        with pytest.raises(ConnectionLost):
            list(stream.texts())
        ended.set()

    with Client(server.door).opened("events") as stream:
        Thread(target=follow, daemon=True).start()
        server.send(": ping\r\n\r\n")
        stream.close()

        assert ended.wait(SOON_S)
        stream.close()  # once more does no harm
