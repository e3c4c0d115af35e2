"""Brings a reply to its client, as long as both ends are there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count
from socket import MSG_DONTWAIT, MSG_PEEK, socket
from threading import Event
from time import monotonic
from typing import assert_never

from tests.support.scripted_model.log import Ending, Record
from tests.support.scripted_model.performance import Effect
from tests.support.scripted_model.stage import Stage
from tests.support.scripted_model.steps import Cut, Gate, Sleep

#: Seconds between two looks at whether somebody still waits.
BEAT = 0.1

#: Beats between two signs of life.
_BEATS = 50


class BrokenOff(Exception):
    """The reply does not come to its end"""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


class Delivery:
    """One reply on one connection: its frames in chunks, or none but the waiting."""

    def __init__(self, stage: Stage, record: Record, connection: socket) -> None:
        self._stage = stage
        self._record = record
        self._connection = connection
        self._ping = b""  #: what is sent while nothing comes

    def stream(self, effects: Iterable[Effect], ping: str) -> None:
        """Send frames as they come."""
        self._ping = _chunk(ping) if ping else b""
        for effect in effects:
            if isinstance(effect, str):
                self._connection.sendall(_chunk(effect))
            else:
                self._obey(effect)
        self._connection.sendall(_chunk(""))

    def hold_back(self, effects: Iterable[Effect]) -> None:
        """Send nothing: the client wants the whole. It takes as long all the same."""
        for effect in effects:
            if not isinstance(effect, str):
                self._obey(effect)

    def _obey(self, effect: Sleep | Gate | Cut) -> None:
        match effect:
            case Sleep(seconds):
                self._wait(self._stage.over, seconds)
            case Gate(name):
                self._stand_at(name)
            case Cut():
                raise BrokenOff(Ending.CUT)
            case _:
                assert_never(effect)

    def _stand_at(self, gate: str) -> None:
        self._note_gate(gate)
        try:
            self._wait(self._stage.gate(gate), math.inf)
        finally:
            self._note_gate("")

    def _note_gate(self, gate: str) -> None:
        with self._stage.log.change():
            self._record.gate = gate

    def _wait(self, event: Event, seconds: float) -> None:
        deadline = monotonic() + seconds
        for beat in count(1):
            left = deadline - monotonic()
            if left <= 0 or event.wait(min(left, BEAT)):
                break
            self._look()
            if beat % _BEATS == 0:
                self._connection.sendall(self._ping)
        self._look()

    def _look(self) -> None:
        """Make sure that this end and the other one are still there."""
        if self._stage.over.is_set():
            raise BrokenOff(Ending.STOPPED)
        try:
            is_gone = not self._connection.recv(1, MSG_PEEK | MSG_DONTWAIT)
        except BlockingIOError:
            return
        if is_gone:
            raise BrokenOff(Ending.ABORTED)


def _chunk(text: str) -> bytes:
    """Return a chunk of HTTP; an empty one is the last."""
    sent = text.encode()
    return b"%x\r\n%s\r\n" % (len(sent), sent)
