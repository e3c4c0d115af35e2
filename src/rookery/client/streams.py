"""Read the streams of the daemon: events, and the screens of a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from rookery.client.decoding import read
from rookery.client.sessions import ScreenInfo
from rookery.client.transport import OpenStream


@dataclass(frozen=True, slots=True)
class EventHead:
    """What is known of an event without its content."""

    seq: int
    kind: str
    session: str  #: its id; empty for an event that concerns all sessions


class _EventSession(Struct, frozen=True):
    session: str = ""


def read_events(stream: OpenStream) -> Iterator[EventHead]:
    """Yield the events of a stream as they arrive."""
    seq, kind = 0, ""
    for text in stream.texts():
        for line in text.split("\n"):
            name, _, value = line.rstrip("\r").partition(": ")
            if name == "id":
                seq = int(value)
            elif name == "event":
                kind = value
            elif name == "data":
                yield EventHead(seq, kind, _session_of(value))


def _session_of(event: str) -> str:
    return msgspec.json.decode(event, type=_EventSession).session


def read_screens(stream: OpenStream) -> Iterator[tuple[str, ...]]:
    """Yield the screens of a session: the present one, then each as it changes."""
    for text in stream.texts():
        for line in text.split("\n"):
            name, _, value = line.rstrip("\r").partition(": ")
            if name == "data":
                yield read(ScreenInfo, json.loads(value)).lines
