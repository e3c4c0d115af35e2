"""What a view that stays open reads: events, screens, changed sessions and conversations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import ScreenInfo, SessionInfo, SessionList, TurnInfo
from rookery.client.transport import Client, OpenStream

#: Sessions that are requested at once; the daemon takes up to 1,000.
MAX_IDS_PER_REQUEST = 500


@dataclass(frozen=True, slots=True)
class EventHead:
    """What is known of an event without its content."""

    seq: int
    kind: str
    session: str  #: its id; empty for an event that concerns all sessions


class _EventSession(Struct, frozen=True):
    session: str = ""


class PassageInfo(DaemonAnswer, frozen=True):
    """A part of a conversation as the agent recorded it."""

    at: str = ""
    kind: str = ""
    text: str = ""


class ConversationInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    turns: tuple[TurnInfo, ...] = ()
    omitted: int = 0
    transcript: tuple[PassageInfo, ...] = ()
    screen: str = ""


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


def list_changed(daemon: Client, ids: Iterable[str]) -> SessionList:
    """List the sessions with these ids, with what waits for them."""
    return read(SessionList, daemon.get("sessions", ids=tuple(ids)[:MAX_IDS_PER_REQUEST]))


def show_conversation(daemon: Client, session: str, *, characters: int) -> ConversationInfo:
    """Return the end of a conversation: turns, and what else the agent recorded."""
    return read(
        ConversationInfo, daemon.get("sessions", session, "data", tail_chars=characters)
    )
