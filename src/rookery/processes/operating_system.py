"""Choose how Rookery asks the operating system about processes: by /proc, or by psutil."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

#: Whether psutil is used: there is no /proc, as on macOS, or the tests ask for it.
IS_PORTABLE = bool(os.environ.get("ROOKERY_PORTABLE")) or not Path("/proc/self/stat").exists()


class ProcessQueries(Protocol):
    """Questions about a process. If it is gone, the answer is ``None``, 0 or empty."""

    def start_and_parent(self, pid: int) -> tuple[str | None, int]:
        """Return when a process began, and its parent's pid.

        The start is ``None`` if the process has ended, even if its parent has not reaped it.
        The start stays the same when the wall clock is set.
        """
        ...

    def pids(self) -> Iterable[int]:
        """Return the pids of all processes."""
        ...

    def owner(self, pid: int) -> int | None:
        """Return the user that a process belongs to."""
        ...

    def argv(self, pid: int) -> tuple[str, ...]:
        """Return a process's command line."""
        ...

    def executable(self, pid: int) -> str:
        """Return the name of the file that a process runs."""
        ...

    def variable(self, pid: int, name: str) -> str:
        """Return a variable of the environment with which a process was started."""
        ...

    def children(self, pid: int) -> Sequence[int]:
        """Return the pids of a process's children."""
        ...

    def folder(self, pid: int) -> str:
        """Return a process's working directory."""
        ...

    def began(self, pid: int) -> datetime | None:
        """Return when a process began, in wall-clock time."""
        ...

    def has_open(self, pid: int, path: str) -> bool:
        """Return whether a process has a file open."""
        ...


class TerminalQueries(Protocol):
    """Questions about a process and its terminal."""

    def terminal(self, pid: int) -> int:
        """Return a number that only processes on the same controlling terminal share."""
        ...

    def is_in_front(self, pid: int) -> bool:
        """Return whether a process is in the foreground of its terminal, and not stopped."""
        ...

    def foreground_group(self, pid: int) -> int | None:
        """Return the foreground process group of a process's terminal; ``None`` if unknown."""
        ...

    def is_busy(self, pid: int) -> bool:
        """Return whether a process certainly does not wait for input."""
        ...


class System(ProcessQueries, TerminalQueries, Protocol):
    """The operating system."""

    def exit_descriptor(self, pid: int) -> int | None:
        """Return a descriptor that becomes readable when a process ends, if there is one."""
        ...


system: System
if IS_PORTABLE:
    from rookery.processes.portable import PsutilSystem

    system = PsutilSystem()
else:
    from rookery.processes.linux import ProcSystem

    system = ProcSystem()
