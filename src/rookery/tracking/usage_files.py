"""Read agents' transcripts in slices and count the tokens that each response has used."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from rookery.agents.transcripts import folder_of_subagents, is_of_subagent, read_usage
from rookery.model.sessions import Session
from rookery.ports.transcript import Tokens, Usage
from rookery.store.transcripts import Progress
from rookery.tracking.transcript_files import opened

_log = logging.getLogger(__name__)

#: Bytes to read and count at once. A longer line contains no token counts.
MAX_SLICE_BYTES = 8 * 1024 * 1024

#: Bytes before the position up to which a file was read; they show whether it is the same.
MARK_BYTES = 2048

#: Maximum files to list in a folder.
MAX_LISTED_FILES = 5_000

#: Responses of a file to remember: they may still grow or be written again.
REMEMBERED_RESPONSES = 64


@dataclass(frozen=True, slots=True)
class UsageSlice:
    """What was read of one file."""

    progress: Progress
    used: Sequence[Usage]  #: since the last read
    is_last: bool


def read_files(session: Session, files: Sequence[Progress], size: int) -> list[UsageSlice]:
    """Read ``size`` bytes of each file of a session, including files found only now."""
    known_paths = {each.path: each for each in files}
    subagent_paths = [path for each in files for path in _subagents(session.agent, each.path)]
    new = (
        Progress(path, session.created_at) for path in subagent_paths if path not in known_paths
    )
    slices = (_read_file(session, each, size) for each in (*files, *new))
    return [each for each in slices if each]


def _subagents(agent: str, path: str) -> list[str]:
    """Return the transcripts of the subagents of the session with this transcript."""
    folder = folder_of_subagents(agent, path)
    if folder is None or is_of_subagent(agent, path):
        return []
    try:
        with os.scandir(folder) as entries:
            names = [each.name for each in islice(entries, MAX_LISTED_FILES)]
    except (OSError, ValueError):
        return []
    return sorted(str(folder / name) for name in names if is_of_subagent(agent, name))


def _read_file(session: Session, progress: Progress, limit: int) -> UsageSlice | None:
    """Continue reading up to the last whole line. ``None`` if the file cannot be read."""
    try:
        with opened(progress.path) as file:
            if _mark(file, progress.offset) != progress.mark:
                progress = _restarted(progress)
            text = os.pread(file, limit, progress.offset)
            is_last = len(text) < limit
            size = text.rfind(b"\n") + 1 or (0 if is_last else len(text))
            read, used = count(session, progress, text[:size].splitlines())
            end = progress.offset + size
            return UsageSlice(replace(read, offset=end, mark=_mark(file, end)), used, is_last)
    except FileNotFoundError:
        return None  # agents write nothing before the first turn
    except (OSError, ValueError) as error:
        _log.warning("%r is not read: %s", progress.path, error)
        return None


def _mark(file: int, offset: int) -> str:
    """Return a digest of the bytes before a position; empty at the beginning."""
    size = min(MARK_BYTES, offset)
    return hashlib.sha256(os.pread(file, size, offset - size)).hexdigest() if size else ""


def _restarted(progress: Progress) -> Progress:
    """Restart with a rewritten file: usage up to the last counted time is skipped."""
    since = max(progress.since, progress.until or progress.since)
    return replace(progress, since=since, offset=0, mark="")


def count(
    session: Session, progress: Progress, lines: Iterable[bytes]
) -> tuple[Progress, list[Usage]]:
    """Return the usage of the session in addition to what was counted before.

    Usage before the session was created or after it ended belongs to another session: a
    resumed conversation continues in the same file.
    """
    counted_by_id, until, more = dict(progress.seen), progress.until, []
    end = session.ended_at or datetime.max.replace(tzinfo=UTC)
    for usage in (read_usage(session.agent, line) for line in lines):
        if usage is None:
            continue
        before = counted_by_id.pop(usage.id, None)
        if before is None and not progress.since < usage.at <= end:
            continue
        counted = before or Tokens()
        counted_by_id[usage.id] = highest = tuple(map(max, counted, usage.tokens))
        added = Tokens(*(now - then for now, then in zip(highest, counted, strict=True)))
        until = max(until or usage.at, usage.at)
        if any(added):
            more.append(replace(usage, tokens=added))
    remembered = dict(list(counted_by_id.items())[-REMEMBERED_RESPONSES:])
    return replace(progress, until=until, seen=remembered), more
