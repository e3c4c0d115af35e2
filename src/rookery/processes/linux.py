"""Ask Linux about processes: /proc and pidfds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

#: States of a process that has ended, also if its parent has not reaped it yet.
_ENDED = frozenset({"Z", "X"})

#: Running, or waiting for a disk.
_BUSY_STATES = frozenset("RD")

#: Kernel functions in which a process waits for something other than input.
_BUSY_WAITS = frozenset(
    {"hrtimer_nanosleep", "do_nanosleep", "do_wait", "pipe_wait"}
    | {"pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write"}
)

#: Bytes that nearly all /proc files of a process fit in.
_USUAL_BYTES = 64 * 1024

#: Bytes that every stat file of a process fits in: a short name and some fifty numbers.
_STAT_BYTES = 4 * 1024

#: Bytes of one process's environment that are searched.
MAX_ENVIRONMENT_BYTES = 1024 * 1024

#: Whether the kernel lists the children of a process. Without that, all processes are scanned,
#: which is a hundred times as much work and is done often.
_LISTS_CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


class ProcSystem:
    """Answers from /proc and pidfds, which only Linux has."""

    def start_and_parent(self, pid: int) -> tuple[str | None, int]:
        try:
            state, parent, *rest = _stat(pid)
            return (None if state in _ENDED else rest[17]), int(parent)
        except (OSError, IndexError, ValueError):
            return None, 0

    def pids(self) -> Iterable[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - many

    def owner(self, pid: int) -> int | None:
        with suppress(OSError):
            return Path(f"/proc/{pid}").stat().st_uid
        return None

    def argv(self, pid: int) -> tuple[str, ...]:
        with suppress(OSError):
            return tuple(os.fsdecode(_read(f"/proc/{pid}/cmdline")).split("\0")[:-1])
        return ()

    def executable(self, pid: int) -> str:
        with suppress(OSError):
            # An upgrade may have replaced the file of a program that still runs.
            return Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
        return ""

    def variable(self, pid: int, name: str) -> str:
        prefix = f"{name}=".encode()
        with suppress(OSError), Path(f"/proc/{pid}/environ").open("rb") as file:
            variables = file.read(MAX_ENVIRONMENT_BYTES).split(b"\0")
            variable = next((each for each in variables if each.startswith(prefix)), b"")
            return variable.removeprefix(prefix).decode(errors="replace")
        return ""

    def children(self, pid: int) -> Sequence[int]:
        if not _LISTS_CHILDREN:
            return [each for each in self.pids() if self.start_and_parent(each)[1] == pid]
        children: list[int] = []
        # A child is listed under the thread that created it, and threads may end meanwhile.
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - read often
                with suppress(OSError):
                    listed = _read(f"/proc/{pid}/task/{thread}/children")
                    children.extend(map(int, listed.split()))
        return children

    def folder(self, pid: int) -> str:
        with suppress(OSError):
            return str(Path(f"/proc/{pid}/cwd").readlink()).removesuffix(" (deleted)")
        return ""

    def began(self, pid: int) -> datetime | None:
        started, _ = self.start_and_parent(pid)
        if started is None:
            return None
        lines = _read("/proc/stat").splitlines()
        boot = next(int(each.split()[1]) for each in lines if each.startswith(b"btime "))
        return datetime.fromtimestamp(boot + int(started) / os.sysconf("SC_CLK_TCK"), UTC)

    def has_open(self, pid: int, path: str) -> bool:
        with suppress(OSError):
            files = Path(f"/proc/{pid}/fd").iterdir()
            return any(_target(each) == path for each in files)
        return False

    def terminal(self, pid: int) -> int:
        with suppress(OSError, IndexError, ValueError):
            return int(_stat(pid)[4])
        return 0

    def is_in_front(self, pid: int) -> bool:
        try:
            state, _, group, _, _, front, *_ = _stat(pid)
        except (OSError, ValueError):
            return False
        return group == front and state != "T"

    def foreground_group(self, pid: int) -> int | None:
        with suppress(OSError, IndexError, ValueError):
            front = int(_stat(pid)[5])
            return front if front > 0 else None
        return None

    def is_busy(self, pid: int) -> bool:
        with suppress(OSError, IndexError):
            if _stat(pid)[0] in _BUSY_STATES:
                return True
            waits_in = _read(f"/proc/{pid}/wchan").decode(errors="replace").partition(".")[0]
            return waits_in in _BUSY_WAITS
        return False

    def exit_descriptor(self, pid: int) -> int | None:
        try:
            return os.pidfd_open(pid)
        except (OSError, AttributeError):  # no such process, or an older Python or kernel
            return None


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's stat file, from its state on. Raises ``OSError``."""
    # One read: the kernel writes this file at once, and every hook call reads it.
    descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(descriptor, _STAT_BYTES)
    finally:
        os.close(descriptor)
    # The program's name, before the state, may contain blanks and brackets.
    return content.decode(errors="replace").rpartition(")")[2].split()


def _target(link: Path) -> str:
    with suppress(OSError):
        return str(link.readlink())
    return ""


def _read(path: str) -> bytes:
    """Read a /proc file whole. There are many, and a ``Path`` takes twice as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(descriptor, _USUAL_BYTES)
        while part := os.read(descriptor, _USUAL_BYTES):
            content += part
        return content
    finally:
        os.close(descriptor)
