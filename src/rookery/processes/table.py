"""Identify processes by pid and start time, because pids are reused, and find relatives."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self

from rookery.processes.operating_system import system


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    started: str  #: in kernel ticks on Linux; else in seconds

    @property
    def key(self) -> str:
        """Return the process as text, by which the database identifies it."""
        return f"{self.pid}:{self.started}"

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the process that has this pid now; ``None`` if there is none."""
        started, _ = system.start_and_parent(pid)
        return cls(pid, started) if started else None

    @classmethod
    def read(cls, key: str) -> Self:
        """Parse the text that ``key`` returns."""
        pid, _, started = key.partition(":")
        return cls(int(pid), started)


def is_running(process: Process) -> bool:
    return Process.of(process.pid) == process


def ancestors(pid: int) -> tuple[Process, ...]:
    """Return a process and its ancestors, the nearest first; empty if it is gone."""
    return tuple(walk_up(pid))


def walk_up(pid: int) -> Iterator[Process]:
    """Yield a process and its ancestors lazily, so that a caller can stop early."""
    visited: set[Process] = set()
    while pid > 1:
        started, parent = system.start_and_parent(pid)
        if started is None or (process := Process(pid, started)) in visited:
            return
        yield process
        visited.add(process)
        pid = parent


def descendants(pid: int) -> Iterator[int]:
    """Yield the descendants of a process."""
    for child in system.children(pid):
        yield child
        yield from descendants(child)


def in_session(leader: int) -> Iterator[int]:
    """Yield the processes of a terminal session, given the pid of its leader."""
    return (pid for pid in system.pids() if session_leader(pid) == leader)


def session_leader(pid: int) -> int:
    """Return the leader of a process's terminal session; 0 if the process is gone."""
    with suppress(OSError):
        return os.getsid(pid)
    return 0


def send_signal(process: Process, pids: Iterable[int], number: int) -> None:
    """Send a signal to a process and to these others, unless the process has ended."""
    if not is_running(process):
        return
    signal_each(
        tuple(filter(None, map(Process.of, dict.fromkeys((process.pid, *pids))))), number
    )


def signal_each(processes: Iterable[Process], number: int) -> None:
    """Send a signal to those of these processes that still run."""
    for each in processes:
        with suppress(ProcessLookupError, PermissionError):
            if is_running(each):
                os.kill(each.pid, number)


def signal_sessions(leaders: Collection[Process], number: int) -> None:
    """Send a signal to all processes of terminal sessions, also if their leaders have ended.

    The pid of a leader is not reused while a process of its session is left.
    """
    ours = {each.pid: each for each in leaders}
    for each in leaders:
        if (found := Process.of(each.pid)) is not None and found != each:
            del ours[each.pid]  # another process has the pid now
    pids = [pid for pid in system.pids() if pid in ours or session_leader(pid) in ours]
    # A descendant may have begun a session of its own.
    below = [child for pid in pids for child in descendants(pid)]
    for found in filter(None, map(Process.of, dict.fromkeys((*pids, *below)))):
        with suppress(ProcessLookupError, PermissionError):
            if is_running(found):
                os.kill(found.pid, number)


def signal_group(process: Process, number: int) -> None:
    """Send a signal to the process group of a process, unless the process has ended."""
    with suppress(ProcessLookupError, PermissionError):
        if is_running(process):
            os.killpg(os.getpgid(process.pid), number)


def find_newest(arguments: Collection[str]) -> int | None:
    """Return this user's newest process whose command line contains all these arguments."""
    # Of all processes, only the command line is read, because a start waits for this.
    matching = [pid for pid in system.pids() if set(arguments) <= set(system.argv(pid))]
    ours = [pid for pid in matching if system.owner(pid) == os.getuid() and Process.of(pid)]
    began = {pid: at for pid in ours if (at := system.began(pid))}
    return max(began, key=lambda pid: began[pid]) if began else None


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process, and what it runs."""

    process: Process
    argv: tuple[str, ...]
    is_in_front: bool = True  #: it is in the foreground of its terminal


class ProcessTable(Protocol):
    """The process table of a computer. A process that ends during a call counts as absent."""

    def look(self, pid: int) -> SeenProcess | None: ...
    def children(self, pid: int) -> Sequence[int]: ...

    def folder(self, pid: int) -> str:
        """Return a process's working directory; empty if it cannot be read."""
        ...

    def began(self, pid: int) -> datetime | None:
        """Return when a process began, in wall-clock time."""
        ...


class Kernel:
    """The process table of this computer."""

    def look(self, pid: int) -> SeenProcess | None:
        if (process := Process.of(pid)) is None:
            return None
        return SeenProcess(process, system.argv(pid), system.is_in_front(pid))

    def children(self, pid: int) -> Sequence[int]:
        return system.children(pid)

    def folder(self, pid: int) -> str:
        return system.folder(pid)

    def began(self, pid: int) -> datetime | None:
        return system.began(pid)
