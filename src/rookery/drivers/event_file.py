"""The event file of one session: the driver host appends to it, the daemon reads it.

The file outlives both processes: what a killed host has written is still recorded.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rookery.drivers.events import Ended, Event, EventEntry, Up, decode, encode
from rookery.private_files import make_folder

_log = logging.getLogger(__name__)

SUFFIX = ".events"

#: Bytes that are read at once.
_CHUNK_BYTES = 2**16

_COPY_BYTES = 2**20

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC


def path_of(folder: Path, session: str) -> Path:
    """Return the event file of a session."""
    return folder / f"{session}{SUFFIX}"


def tells_of_agent(path: Path) -> bool:
    """Return whether an event file says that its agent came up, or how it ended before."""
    try:
        return any(isinstance(each.event, Up | Ended) for each in EventReader(path).read())
    except OSError:
        return True  # that is not known


class EventWriter:
    """Appends numbered events. What cannot be written yet is kept, in order.

    The rest of a line that a full disk took a part of is written later. Until then the reader
    leaves that line out: it has no end.
    """

    def __init__(self, path: Path) -> None:
        # A session that starts again after its host was killed has a new file. Its numbers go
        # on: the daemon skips those that it has recorded.
        self._number = max((each.number for each in EventReader(path).read()), default=0)
        self._path = path
        self._file = _create(path)
        self._unwritten = bytearray()
        self.problem = ""  #: why events cannot be written now; empty if they can

    def append(self, *events: Event) -> bool:
        """Write events with one call. Returns whether they and all before are in the file."""
        at, first = datetime.now(UTC).isoformat(), self._number + 1
        entries = [EventEntry(first + n, at, event) for n, event in enumerate(events)]
        self._unwritten += encode(entries)
        self._number += len(events)
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

    def restore(self) -> bool:
        """Write the file anew if it was deleted or moved. Returns whether it was.

        Raises ``OSError`` and ``HomeUnusable``; then the old file is used further.
        """
        if _is_at(self._path, self._file):
            return False
        new = self._path.with_suffix(".new")
        file = _create(new)
        try:
            _copy(self._file, file)
            new.rename(self._path)
        except OSError:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file = file
        return True

    @property
    def unwritten_bytes(self) -> int:
        return len(self._unwritten)

    def close(self) -> None:
        os.close(self._file)


def _create(path: Path) -> int:
    """Open a new, private file. Its folder may have been deleted while the host runs."""
    make_folder(path.parent)
    return os.open(path, _NEW_FILE, 0o600)


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _copy(source: int, target: int) -> None:
    """Copy a file, which may have been deleted, to an open one. Raises ``OSError``."""
    offset = 0
    while chunk := os.pread(source, _COPY_BYTES, offset):
        offset += len(chunk)
        while chunk:
            chunk = chunk[os.write(target, chunk) :]


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
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return entries
        try:
            if os.fstat(file).st_size < self._offset:
                self._offset = 0  # another program has emptied the file
            while lines := _whole_lines(file, self._offset):
                self._offset += len(lines)
                entries += self._decode(lines)
        finally:
            os.close(file)
        return entries

    def _decode(self, lines: bytes) -> list[EventEntry]:
        try:
            return decode(lines)
        except msgspec.MsgspecError as error:
            if b"\n" not in lines:
                _log.warning("A line of %s is damaged: %s", self._path, error)
                return []
        return [entry for line in lines.split(b"\n") for entry in self._decode(line)]


def _whole_lines(file: int, offset: int) -> bytes:
    """Return the next lines; nothing if even the first one is still being written."""
    begun: list[bytes] = []  #: of a long line, which is searched once
    while more := os.pread(file, _CHUNK_BYTES, offset):
        offset += len(more)
        if end := more.rfind(b"\n") + 1:
            return b"".join((*begun, more[:end]))
        begun.append(more)
    return b""
