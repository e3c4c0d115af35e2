"""Notices what work in a transaction reads besides the database."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection
from types import FrameType
from typing import Any

from rookery.clock import WallClock
from rookery.ports.clock import Clock
from tests.support.fakes.clock import FakeClock

#: The modules of C through which Python reads files, /proc, clocks and other programs.
_MODULES = {"posix", "io", "_io", "time", "_socket", "_posixsubprocess", "select"}

#: What these have that asks for nothing outside the process.
_HARMLESS = {"fspath", "urandom", "_path_normpath", "text_encoding"}

_CLOCKS = {FakeClock.now.__code__, WallClock.now.__code__}

#: The frames that a report names.
_DEPTH = 8


@dataclass(slots=True)
class TransactionGuard:
    """Watches the writer thread while a transaction is open."""

    reads: list[str] = field(default_factory=list)  #: of files, of /proc, of clocks
    clock: Clock | None = None  #: must not be asked; other fakes of a test may

    def look(self, frame: FrameType, event: str, called: Any) -> None:  # noqa: ANN401
        """Note a read. Called by Python at each call of a function."""
        if event == "call" and frame.f_code in _CLOCKS and self._is_asked(frame):
            self.reads.append(f"a clock by {_callers(frame)}")
        elif event == "c_call" and _is_read(frame, called):
            self.reads.append(f"{called.__qualname__} by {_callers(frame)}")

    def _is_asked(self, frame: FrameType) -> bool:
        return self.clock is not None and frame.f_locals["self"] is self.clock

    def kind(self, kind: type[Connection]) -> type[Connection]:
        """Return a kind of connection whose transactions are watched."""
        look = self.look

        class Guarded(kind):  # type: ignore[valid-type,misc]
            def execute(self, sql: str, *parameters: Any) -> Any:  # noqa: ANN401 - of SQLite
                made = super().execute(sql, *parameters)
                if sql == "begin immediate":
                    sys.setprofile(look)
                return made

            def commit(self) -> None:
                sys.setprofile(None)
                super().commit()

            def rollback(self) -> None:
                sys.setprofile(None)
                super().rollback()

        return Guarded


def _is_read(frame: FrameType, called: Any) -> bool:  # noqa: ANN401 - a function of C
    if frame.f_code.co_name == "gc_callback":  # of Hypothesis
        return False
    if getattr(called, "__self__", None) is datetime:
        return called.__name__ in {"now", "utcnow", "today"}
    return called.__module__ in _MODULES and called.__name__ not in _HARMLESS


def _callers(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame and len(names) < _DEPTH:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return " < ".join(names)
