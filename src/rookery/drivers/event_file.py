"""The event file of one session: the driver host appends to it, the daemon reads it.

The file outlives both processes: what a killed host has written is still recorded.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from rookery.drivers.events import Event, EventEntry, decode, encode

_log = logging.getLogger(__name__)

SUFFIX = ".events"

#: Bytes that are decoded at once.
_CHUNK_BYTES = 2**20


def path_of(folder: Path, session: str) -> Path:
    """Return the event file of a session."""
    return folder / f"{session}{SUFFIX}"


class EventWriter:
    """Appends events, numbered from 1."""

    def __init__(self, path: Path) -> None:
        # A new file: a session that starts again after its host was killed begins anew.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._number = 0

    def append(self, *events: Event) -> None:
        """Write events with one call. Raises ``OSError``, for instance if the disk is full."""
        at, first = datetime.now(UTC).isoformat(), self._number + 1
        lines = encode([EventEntry(first + n, at, event) for n, event in enumerate(events)])
        written = os.write(self._file, lines)
        if written == len(lines):
            self._number += len(events)
            return
        # A full disk took a part of them: those that it took as a whole stay.
        whole = lines.rfind(b"\n", 0, written) + 1
        os.ftruncate(self._file, os.fstat(self._file).st_size - (written - whole))
        self._number += lines.count(b"\n", 0, whole)
        raise OSError(f"only {written} of {len(lines)} bytes of events could be written")

    def close(self) -> None:
        os.close(self._file)


class EventReader:
    """Reads the entries of an event file, each once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[EventEntry]:
        """Return the entries that were added since the last call; none if there is no file.

        A damaged line is left out: those before and after it are still true.
        """
        entries: list[EventEntry] = []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while lines := _whole_lines(file):
                    self._offset += len(lines)
                    entries += self._decode(lines)
        except FileNotFoundError:
            pass
        return entries

    def _decode(self, lines: bytes) -> list[EventEntry]:
        try:
            return decode(lines)
        except msgspec.MsgspecError as error:
            if b"\n" not in lines:
                _log.warning("A line of %s is damaged: %s", self._path, error)
                return []
        return [entry for line in lines.split(b"\n") for entry in self._decode(line)]


def _whole_lines(file: BinaryIO) -> bytes:
    """Return the next lines, without the last one if it is still being written."""
    lines = file.read(_CHUNK_BYTES) + file.readline()
    return lines[: lines.rfind(b"\n") + 1]
