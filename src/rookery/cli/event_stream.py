"""Parse the daemon's stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo


class EventFields(DaemonAnswer, frozen=True):
    """The fields of events that commands use; each kind of event has some of them."""

    kind: str = ""
    at: str = ""
    session: str = ""
    sessions: tuple[SessionInfo, ...] = ()  #: of a snapshot
    name: str = ""
    channel: str = ""
    by: str = ""
    prompt: str = ""
    tool: str = ""
    argument: str = ""
    asks: str = ""
    message: str = ""
    last_words: str = ""


@dataclass(frozen=True, slots=True)
class ShownEvent:
    seq: int
    kind: str
    text: str  #: JSON

    @property
    def fact(self) -> EventFields:
        return read(EventFields, json.loads(self.text))


@dataclass(slots=True)
class EventParser:
    """Parses server-sent events, whose lines may come in several chunks."""

    seq: int = 0
    kind: str = ""

    def read(self, lines: Iterable[str]) -> Iterator[ShownEvent]:
        for line in lines:
            name, _, value = line.partition(": ")
            if name == "data":
                yield ShownEvent(self.seq, self.kind, value)
            elif name == "id":
                self.seq = int(value)
            elif name == "event":
                self.kind = value


def read_events(lines: Iterable[str]) -> Iterator[ShownEvent]:
    """Yield the events of a stream."""
    return EventParser().read(lines)
