"""Read processes on any system through psutil.

What psutil cannot read, and what Rookery does instead, is in docs/reference/platforms.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePath

import psutil


class PsutilSystem:
    """A system without /proc and pidfds."""

    def start_and_parent(self, pid: int) -> tuple[str | None, int]:
        try:
            process = psutil.Process(pid)
            is_over = process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
            # create_time() changes with the wall clock; this is what psutil itself compares.
            _, started = process._ident  # type: ignore[attr-defined] # noqa: SLF001
            return (None if is_over else str(started)), process.ppid()
        except (psutil.Error, ValueError):
            return None, 0

    def pids(self) -> Iterable[int]:
        return psutil.pids()

    def owner(self, pid: int) -> int | None:
        with suppress(psutil.Error):
            return psutil.Process(pid).uids().real
        return None

    def argv(self, pid: int) -> tuple[str, ...]:
        with suppress(psutil.Error):
            return tuple(psutil.Process(pid).cmdline())
        return ()

    def executable(self, pid: int) -> str:
        with suppress(psutil.Error):
            return PurePath(psutil.Process(pid).exe()).name
        return ""

    def variable(self, pid: int, name: str) -> str:
        with suppress(psutil.Error, OSError):
            return psutil.Process(pid).environ().get(name, "")
        return ""

    def children(self, pid: int) -> Sequence[int]:
        with suppress(psutil.Error):
            return [each.pid for each in psutil.Process(pid).children()]
        return ()

    def folder(self, pid: int) -> str:
        with suppress(psutil.Error, OSError):
            return psutil.Process(pid).cwd()
        return ""

    def began(self, pid: int) -> datetime | None:
        with suppress(psutil.Error):
            return datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC)
        return None

    def has_open(self, pid: int, path: str) -> bool:
        with suppress(psutil.Error):
            return any(each.path == path for each in psutil.Process(pid).open_files())
        return False

    def terminal(self, pid: int) -> int:
        # psutil reads the list of terminals only once. A terminal belongs to one session of
        # processes, so the session's leader identifies it. A session without a terminal
        # counts as if it had one.
        with suppress(OSError):
            return os.getsid(pid)
        return 0

    def is_in_front(self, pid: int) -> bool:
        with suppress(psutil.Error):
            return psutil.Process(pid).status() != psutil.STATUS_STOPPED
        return False

    def foreground_group(self, pid: int) -> int | None:
        return None

    def is_busy(self, pid: int) -> bool:
        return False

    def exit_descriptor(self, pid: int) -> int | None:
        return None
