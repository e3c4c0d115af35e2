"""The files by which the daemon finds the driver host: its socket, its secret and its process.

Any of them may be deleted while the host runs, for instance by a program that cleans up. Then
the host writes them again: without them, its sessions would look lost to the next daemon.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rookery.private_files import make_folder, require_private, write_durably
from rookery.processes import Process, is_running

#: Device, inode and time of the last change: an inode number alone is soon reused.
Identity = tuple[int, int, int]


@dataclass(slots=True)
class HostFiles:
    """The files of this host."""

    socket: Path
    key: Path  #: the file with the secret that commands carry
    record: Path  #: the file with the process of the host
    _socket_identity: Identity | None = field(default=None, init=False)

    def write(self, secret: str) -> None:
        """Write the secret and the process where they are missing or differ.

        Raises ``OSError`` and ``HomeUnusable``.
        """
        for path, content in ((self.key, secret), (self.record, _own_process().key)):
            if _read(path) != content:
                make_folder(path.parent)
                write_durably(path, content.encode("ascii"))

    def prepare_socket(self) -> None:
        """Create the folder of the socket, private. Raises ``HomeUnusable``."""
        make_folder(self.socket.parent)
        require_private(self.socket.parent)

    def note_socket(self) -> None:
        """Remember the file of the socket, which has just been bound."""
        self._socket_identity = _identify(self.socket)

    @property
    def is_socket_in_place(self) -> bool:
        current = _identify(self.socket)
        return current is not None and current == self._socket_identity

    @property
    def is_taken_over(self) -> bool:
        """Return whether another host of this home is recorded, and runs."""
        recorded = read_process(self.record)
        return recorded is not None and recorded != _own_process() and is_running(recorded)

    def remove_record(self) -> None:
        """Record that this host has ended."""
        if read_process(self.record) == _own_process():
            with suppress(OSError):
                self.record.unlink()


def read_process(record: Path) -> Process | None:
    """Return the recorded process of a host, which may have ended; none if none is recorded."""
    try:
        return Process.read(_read(record) or "")
    except ValueError:
        return None


def _own_process() -> Process:
    process = Process.of(os.getpid())
    assert process  # noqa: S101 - this process runs
    return process


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


def _identify(path: Path) -> Identity | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns
