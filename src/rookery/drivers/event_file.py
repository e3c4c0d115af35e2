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


def path_of(folder: Path, session: str) -> Path:
    """Return the event file of a session."""
    return folder / f"{session}{SUFFIX}"


class EventWriter:
    """Appends events, numbered from 1. One write call each: a kill leaves whole lines."""

    def __init__(self, path: Path) -> None:
        # A new file: a session that starts again after its host was killed begins anew.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._number = 0

    def append(self, event: Event) -> None:
        """Write an event. Raises ``OSError``, for instance if the disk is full."""
        entry = EventEntry(self._number + 1, datetime.now(UTC).isoformat(), event)
        line = encode(entry)
        written = os.write(self._file, line)
        if written < len(line):  # a full disk took a part of it
            size = os.fstat(self._file).st_size
            os.ftruncate(self._file, size - written)
            raise OSError(f"only {written} of {len(line)} bytes of an event could be written")
        self._number += 1

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
