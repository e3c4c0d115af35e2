"""Read the streams of the daemon: events, and the screens of a session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import ScreenInfo, SessionInfo
from rookery.client.transport import OpenStream


class EventFields(DaemonAnswer, frozen=True):
    """The fields of events that commands use; each kind of event has some of them."""

    kind: str = ""
    at: str = ""
    session: str = ""
    sessions: tuple[SessionInfo, ...] = ()  #: only in a snapshot
    name: str = ""
    channel: str = ""
    by: str = ""
    prompt: str = ""
    tool: str = ""
    argument: str = ""
    decision: str = ""
    rule: str = ""
    asks: str = ""
    message: str = ""
    last_words: str = ""


class _EventSession(Struct, frozen=True):
    session: str = ""


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event, whose content is decoded only on demand."""

    seq: int
    kind: str
    text: str  #: the event as JSON

    @property
    def fact(self) -> EventFields:
        return read(EventFields, json.loads(self.text))

    @property
    def session(self) -> str:
        """Return the id of the event's session; empty if the event concerns all sessions."""
        return msgspec.json.decode(self.text, type=_EventSession).session


def read_events(texts: Iterable[str]) -> Iterator[ShownEvent]:
    """Yield the events of a stream as they arrive; each text is one or more whole lines."""
    for some in read_batches(texts):
        yield from some


def read_batches(texts: Iterable[str]) -> Iterator[list[ShownEvent]]:
    """Yield the events of a stream in the batches in which they arrive."""
    seq, kind = 0, ""
    for text in texts:
        batch = []
        for name, value in _fields(text):
            if name == "data":
                batch.append(ShownEvent(seq, kind, value))
            elif name == "id":
                seq = int(value)
            elif name == "event":
                kind = value
        if batch:
            yield batch


def read_screens(stream: OpenStream) -> Iterator[tuple[str, ...]]:
    """Yield the screens of a session: the present one, then each as it changes."""
    for text in stream.texts():
        for name, value in _fields(text):
            if name == "data":
                yield read(ScreenInfo, json.loads(value)).lines


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of server-sent events, each with its value."""
    for line in text.split("\n"):
        name, _, value = line.rstrip("\r").partition(": ")
        yield name, value
