"""Take in, in order, the hook calls that could not reach the daemon."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from rookery.hook_protocol import CallHead, is_whole, read_head, time_of
from rookery.model.errors import HookUnreadable
from rookery.programs.hook import MAX_PAYLOAD_BYTES

_log = logging.getLogger(__name__)

#: Calls that are taken in together, most of them in one transaction.
MAX_BATCH_CALLS = 256

#: Bytes of calls that are taken in together; a tool's input may contain a whole file.
MAX_BATCH_BYTES = 16 * 1024 * 1024

#: Seconds after which a partial file stays partial: a hook program writes a call in one go.
PARTIAL_AGE_S = 60.0

#: Nanoseconds within which a folder may change twice and show the same time.
SAME_TIME_NS = 100_000_000

#: Bytes of a call's first line.
MAX_LINE_BYTES = 16 * 1024

#: Bytes of a file: the limit for live calls. Reading a larger file that some program planted
#: would exhaust the memory, and again at every restart.
MAX_FILE_BYTES = MAX_LINE_BYTES + MAX_PAYLOAD_BYTES

#: Calls of one lane keep their order. A lane is a session's badge, or without one the agent's
#: name, since a session without a badge may change its native id between calls.
Lane: TypeAlias = str


def lane_of(head: CallHead) -> Lane:
    return head.badge or head.agent


#: Takes in calls in their order. Returns once they are committed, or parked one by one.
TakeIn: TypeAlias = Callable[[Sequence[bytes]], Awaitable[None]]

#: Records a call that is set aside unread: its key and the reason.
Park: TypeAlias = Callable[[str, str], Awaitable[None]]


@dataclass(slots=True)
class Spool:
    folder: Path
    take_in: TakeIn
    park: Park
    #: The names of files, in order, with their lanes. A lane is read only when a live call
    #: needs it: that opens the file once more, and most lanes are never needed.
    _waiting: dict[str, Lane | None] = field(default_factory=dict)
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _left: set[str] = field(default_factory=set)  #: names of files that cannot be set aside
    _folder_time: int | None = None  #: the folder's modification time as it was listed

    async def drain(self) -> None:
        """Take in all waiting calls. Raises ``OSError`` and what the store raises."""
        await self._look()
        while self._waiting:
            await self._take(self._waiting)

    @property
    def may_be_ahead(self) -> bool:
        """Return whether ``clear`` may have work. Checked before every live call."""
        return bool(self._waiting) or self._has_changed()

    async def clear(self, lane: Lane) -> None:
        """Take in the calls that a live call of this lane must not overtake."""
        if self._has_changed():
            await self._look()
        while ahead := await self._ahead_of(lane):
            await self._take(ahead)

    async def _ahead_of(self, lane: Lane) -> list[str]:
        unread = [name for name, known in self._waiting.items() if known is None]
        if unread:
            lanes = await asyncio.to_thread(lambda: [_lane(self.folder / x) for x in unread])
            for name, found in zip(unread, lanes, strict=True):
                if name in self._waiting:  # else it was taken in meanwhile
                    self._waiting[name] = found
        return [name for name, known in self._waiting.items() if known == lane]

    @property
    def waiting(self) -> int:
        """Return the number of calls that are known to wait."""
        return len(self._waiting)

    async def _look(self) -> None:
        """List the folder: add new calls to the waiting ones, and set partial files aside."""
        async with self._taking:
            known = self._left.union(self._waiting)
            changed, found = await asyncio.to_thread(_list, self.folder, known)
            for name in found.partial:
                await self._set_aside(name, "its file in the spool is incomplete")
            new = dict.fromkeys(found.calls)
            self._waiting = dict(sorted({**new, **self._waiting}.items(), key=itemgetter(0)))
            is_past = time.time_ns() - changed > SAME_TIME_NS
            self._folder_time = changed if is_past else None

    async def _set_aside(self, name: str, why: str) -> None:
        """Set aside the file of a call that cannot be taken in; ``doctor`` shows it."""
        await self.park(name.removesuffix(".part"), why)
        aside = await asyncio.to_thread(_rename_aside, self.folder / name)
        if aside is None:
            self._left.add(name)  # it must not block the other calls
        where = f"set aside as {str(aside)!r}" if aside else f"left as {name!r}"
        _log.warning("A spooled hook call is %s: %s", where, why)

    def _has_changed(self) -> bool:
        try:
            # Runs before every live call, so it must be cheap.
            return os.stat(self.folder).st_mtime_ns != self._folder_time  # noqa: PTH116
        except OSError:
            return True

    async def _take(self, some: Iterable[str]) -> None:
        """Process the first batch of these calls, except calls processed meanwhile."""
        chosen = list(islice(some, MAX_BATCH_CALLS))
        async with self._taking:
            chosen = [name for name in chosen if name in self._waiting]
            batch = await asyncio.to_thread(_read_batch, self.folder, chosen)
            await self.take_in(batch.calls)
            await asyncio.to_thread(_remove, self.folder, batch.taken)
            for name, why in batch.refused.items():
                await self._set_aside(name, why)
            for name in (*batch.taken, *batch.refused):
                del self._waiting[name]


@dataclass(frozen=True, slots=True)
class _Found:
    calls: list[str]
    partial: list[str]


def _list(folder: Path, known: set[str]) -> tuple[int, _Found]:
    folder.mkdir(mode=0o700, exist_ok=True)
    changed = folder.stat().st_mtime_ns
    found = _Found([], [])
    with os.scandir(folder) as entries:
        names = [each.name for each in entries if each.is_file(follow_symlinks=False)]
    for name in names:
        if name in known or name.endswith(".damaged"):
            continue
        if not name.endswith(".part") or _is_whole(folder / name):
            found.calls.append(name)
        elif _is_old(folder / name):
            found.partial.append(name)
    return changed, found


def _rename_aside(file: Path) -> Path | None:
    """Rename a file so that it is not listed again. Return ``None`` if that fails."""
    short = hashlib.sha256(os.fsencode(file.name)).hexdigest()[:16]
    # The usual name may be taken by a folder, or be too long.
    for aside in (file.with_suffix(".damaged"), file.with_name(f"{short}.damaged")):
        with suppress(OSError):
            file.rename(aside)
            return aside
    return None


def _is_whole(part: Path) -> bool:
    """Return whether a call is complete although its file was never renamed."""
    if time_of(part.name.removesuffix(".part")) is None:
        return False
    try:
        with part.open("rb") as file:
            return is_whole(file.readline(MAX_LINE_BYTES), os.fstat(file.fileno()).st_size)
    except OSError:  # it was renamed just now
        return False


def _is_old(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime > PARTIAL_AGE_S
    except OSError:
        return False


def _lane(file: Path) -> Lane:
    try:
        with file.open("rb") as opened:
            return lane_of(read_head(opened.readline(MAX_LINE_BYTES)))
    except (OSError, HookUnreadable):
        return ""


@dataclass(frozen=True, slots=True)
class _Batch:
    calls: list[bytes] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)  #: files to remove after the commit
    refused: dict[str, str] = field(default_factory=dict)  #: files that were not read, and why


def _read_batch(folder: Path, names: Sequence[str]) -> _Batch:
    """Read files up to the size limit of one batch."""
    batch, room = _Batch(), MAX_BATCH_BYTES
    for name in names:
        try:
            # There may be thousands, and with Path objects it takes twice as long.
            with open(f"{folder}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
                size = os.fstat(file.fileno()).st_size
                if size > MAX_FILE_BYTES:
                    why = f"its file has {size:,} bytes; {MAX_FILE_BYTES:,} is the most"
                    batch.refused[name] = why
                    continue
                if batch.calls and size > room:
                    break
                batch.calls.append(file.read(size))
                room -= size
        except FileNotFoundError:  # a partial file was renamed: it is listed again
            pass
        except PermissionError as error:  # it must not block all others for ever
            batch.refused[name] = f"its file cannot be read: {error.strerror}"
            continue
        batch.taken.append(name)
    return batch


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(f"{folder}/{name}")  # noqa: PTH108 - as above
