"""Read agents' transcript files from their end, with limits on what is read."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from rookery.agents.transcripts import read_line
from rookery.model.sessions import Session
from rookery.ports.transcript import Passage, TranscriptEntry

_log = logging.getLogger(__name__)

#: Maximum bytes of a file; a larger one is not a transcript.
MAX_FILE_BYTES = 1024 * 1024 * 1024

#: Bytes to read at once.
BLOCK_BYTES = 256 * 1024

#: Maximum bytes of a line; a longer one is an image or the like, and is skipped.
MAX_LINE_BYTES = 1024 * 1024


class TailLimit(NamedTuple):
    """How much of the end of a file to read."""

    bytes: int
    lines: int


#: END finds the last message of a turn, for which other work waits; ALL a conversation.
END, ALL = TailLimit(4 * 1024 * 1024, 2_000), TailLimit(16 * 1024 * 1024, 50_000)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A period of time."""

    since: datetime
    until: datetime

    @staticmethod
    def of(session: Session) -> TimeSpan:
        """Return the lifetime of a session: the file may have turns of other sessions, too."""
        end = session.ended_at or datetime.max.replace(tzinfo=UTC)
        return TimeSpan(session.created_at, end)


def passages(agent: str, path: str, span: TimeSpan, *, limit: TailLimit) -> Iterator[Passage]:
    """Yield the passages in a span of time, the last first."""
    for entry in _entries(agent, path, limit):
        for passage in reversed(entry.passages):
            if passage.at < span.since:
                return
            if passage.at <= span.until:
                yield passage


def _entries(agent: str, path: str, limit: TailLimit) -> Iterator[TranscriptEntry]:
    """Yield the parsed lines of a file, the last first, each id once."""
    seen_ids = set[str]()
    try:
        with opened(path) as file:
            for line in islice(_lines_from_the_end(file, limit.bytes), limit.lines):
                entry = read_line(agent, line) if len(line) <= MAX_LINE_BYTES else None
                if entry and entry.id not in seen_ids:
                    if entry.id:
                        seen_ids.add(entry.id)
                    yield entry
    except FileNotFoundError:
        return  # agents write nothing before the first turn
    except (OSError, ValueError) as error:
        _log.warning("%r is not read: %s", path, error)


def _lines_from_the_end(file: int, max_bytes: int) -> Iterator[bytes]:
    """Yield whole lines, the last first; only the end of a long file is read."""
    end = os.fstat(file).st_size
    start = max(0, end - max_bytes)
    rest = b""
    while end > start:
        begin = max(start, end - BLOCK_BYTES)
        rest, *lines = (os.pread(file, end - begin, begin) + rest).split(b"\n")
        yield from reversed(lines)
        end = begin
    if not start:
        yield rest


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Open a file that a session named. Raises ``OSError`` if it cannot be a transcript.

    The file may be in any folder: the session's own processes could read it, and show its text
    to all readers of the session, anyway. It must not block the daemon, and must not be a
    device, a symbolic link or another user's file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(path, flags)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise PermissionError("it is not a regular file of this user")
        if status.st_size > MAX_FILE_BYTES:
            raise PermissionError("it is too large")
        yield file
    finally:
        os.close(file)
