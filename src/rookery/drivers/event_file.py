"""The event file of one session: the driver host appends to it, the daemon reads it.

The file outlives both processes: what a killed host has written is still recorded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rookery.drivers.events import Event, EventEntry, decode, encode

_log = logging.getLogger(__name__)

SUFFIX = ".events"

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC


def path_of(folder: Path, session: str) -> Path:
    """Return the event file of a session."""
    return folder / f"{session}{SUFFIX}"


class EventWriter:
    """Appends events, numbered from 1. What cannot be written yet is kept, in order.

    The rest of a line that a full disk took a part of is written later. Until then the reader
    leaves that line out: it has no end.
    """

    def __init__(self, path: Path) -> None:
        # A new file: a session that starts again after its host was killed begins anew.
        self._path = path
        self._file = os.open(path, _NEW_FILE, 0o600)
        self._number = 0
        self._unwritten = bytearray()
        self.problem = ""  #: why events cannot be written now; empty if they can

    def append(self, event: Event) -> bool:
        """Write an event. Returns whether it and all before it are in the file."""
        entry = EventEntry(self._number + 1, datetime.now(UTC).isoformat(), event)
        self._unwritten += encode(entry)
        self._number += 1
        return self.flush()

    def flush(self) -> bool:
        """Write what was kept. Returns whether all of it is in the file."""
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._file, self._unwritten)]
        except OSError as error:  # for instance a full disk
            self.problem = error.strerror or str(error)
            return False
        self.problem = ""
        return True

    @property
    def unwritten_bytes(self) -> int:
        return len(self._unwritten)

    def close(self) -> None:
        os.close(self._file)


class EventReader:
    """Reads the entries of an event file, each once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[EventEntry]:
        """Yield the entries that were added since the last call; none if there is no file.

        A damaged line is left out: those before and after it are still true.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return  # it is being written
                    self._offset += len(line)
                    try:
                        entry = decode(line)
                    except msgspec.MsgspecError as error:
                        _log.warning("A line of %s is damaged: %s", self._path, error)
                    else:
                        yield entry
        except FileNotFoundError:
            return
