"""Identify processes by pid and start time (pids are reused), and find agents among them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePath
from typing import Protocol, Self

import psutil

from rookery.ports.agent import Agent


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    started: str  #: in kernel ticks where available; else in seconds

    @property
    def word(self) -> str:
        return f"{self.pid}:{self.started}"

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the process that has this pid now; ``None`` if there is none."""
        started = _started(pid)
        return cls(pid, started) if started else None

    @classmethod
    def read(cls, word: str) -> Self:
        """Parse the text that ``word`` returns."""
        pid, _, started = word.partition(":")
        return cls(int(pid), started)


def is_running(process: Process) -> bool:
    return _started(process.pid) == process.started


def ancestors(pid: int) -> tuple[Process, ...]:
    """Return a process and its ancestors, the nearest first; empty if it is gone."""
    return tuple(_walk_up(pid))


def _walk_up(pid: int) -> Iterator[Process]:
    """Yield a process and its ancestors lazily, so that a caller can stop early."""
    seen: set[Process] = set()
    while pid > 1:
        started, parent = _start_and_parent(pid)
        if started is None or (process := Process(pid, started)) in seen:
            return
        yield process
        seen.add(process)
        pid = parent


def _start_and_parent(pid: int) -> tuple[str | None, int]:
    """Return the start time of a process, as ``_started`` does, and its parent's pid."""
    try:
        state, parent, *rest = read_stat(pid)
        return (None if state in _ENDED else rest[17]), int(parent)
    except FileNotFoundError:
        return (None, 0) if Path("/proc/self").exists() else _start_and_parent_by_psutil(pid)
    except (OSError, IndexError, ValueError):
        return None, 0


def _start_and_parent_by_psutil(pid: int) -> tuple[str | None, int]:
    try:
        process = psutil.Process(pid)
        return str(process.create_time()), process.ppid()
    except psutil.Error:
        return None, 0


def caller_of(pid: int, program: str) -> Process | None:
    """Return the agent that a process is, or that started it: the nearest with ``program``.

    If the program runs itself again, as npm packages do, it is the outer one.
    """
    found = None
    for each in _walk_up(pid):
        argv = _argv(each.pid)
        is_agent = program_of(argv) == program
        if found and (not is_agent or _is_script(argv)):
            break
        found = each if is_agent else None
    return found


def runs_program(pid: int, program: str) -> bool:
    """Return whether a process runs this program, directly or by an interpreter."""
    return program_of(_argv(pid)) == program


def _argv(pid: int) -> tuple[str, ...]:
    with suppress(OSError):
        words = os.fsdecode(_read(f"/proc/{pid}/cmdline")).split("\0")
        return tuple(words[:-1])
    with suppress(psutil.Error):
        return tuple(psutil.Process(pid).cmdline())
    return ()


def run_as(agent: Agent) -> str:
    """Return an agent's name in the process table; Rookery's own agents are modules."""
    return agent.program or f"rookery.programs.{agent.name}"


def is_shared(pid: int, servers: Mapping[str, str]) -> bool:
    """Return whether a process was started by a shared server of an agent program.

    Such a server acts for many sessions, with the environment of its first caller.
    """
    return any(is_shared_server(each.pid, servers) for each in islice(_walk_up(pid), 1, 3))


def is_shared_server(pid: int, servers: Mapping[str, str]) -> bool:
    """Return whether a process is a program that serves several sessions.

    ``servers`` maps the program's file to the argument that makes it a server: argv alone
    proves nothing.
    """
    words = _argv(pid)
    if not any(argument in words for argument in servers.values()):
        return False
    return servers.get(_executable(pid)) in words


def _executable(pid: int) -> str:
    """Return the name of the file that a process runs; empty if it cannot be read."""
    with suppress(OSError):
        # An upgrade may have replaced the file of a program that still runs.
        return Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
    with suppress(psutil.Error):
        return PurePath(psutil.Process(pid).exe()).name
    return ""


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

    def above(self, pid: int) -> Sequence[Process]:
        """Return a process and its ancestors, the nearest first."""
        ...

    def folder(self, pid: int) -> str:
        """Return a process's working directory; empty if it cannot be read."""
        ...

    def began(self, pid: int) -> datetime | None:
        """Return when a process began, in wall-clock time."""
        ...


def descendants(pid: int) -> Iterator[int]:
    """Yield the descendants of a process."""
    for child in Kernel().children(pid):
        yield child
        yield from descendants(child)


def in_session(leader: int) -> Iterator[int]:
    """Yield the processes of a terminal session, given the pid of its leader."""
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getsid(pid) == leader:
                yield pid


class Kernel:
    """The process table of this computer."""

    def look(self, pid: int) -> SeenProcess | None:
        if (process := Process.of(pid)) is None:
            return None
        return SeenProcess(process, _argv(pid), _is_in_front(pid))

    def children(self, pid: int) -> Sequence[int]:
        if not _LISTS_CHILDREN:
            with suppress(psutil.Error):
                return [each.pid for each in psutil.Process(pid).children()]
            return ()
        found: list[int] = []
        # A child is listed under the thread that created it.
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found.extend(map(int, file.read_text().split()))
        return found

    def above(self, pid: int) -> Sequence[Process]:
        return ancestors(pid)

    def folder(self, pid: int) -> str:
        try:
            return psutil.Process(pid).cwd()
        except (psutil.Error, OSError):
            return ""

    def began(self, pid: int) -> datetime | None:
        with suppress(psutil.Error):
            return datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC)
        return None


#: Whether the kernel lists children itself: scanning every process is a hundred times as much
#: work, and is done again and again.
_LISTS_CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A running agent program."""

    agent: str
    process: Process  #: the outermost process of the agent
    inner: tuple[Process, ...] = ()  #: descendants in which the same program runs itself

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(each.word for each in (self.process, *self.inner))


def find_agent(
    table: ProcessTable, pid: int, programs: Mapping[str, str]
) -> FoundProgram | None:
    """Return the agent that runs in, or below, a process; the foreground one of several.

    ``programs`` maps programs to agents.
    """
    found = list(_outermost(table, pid, programs, set()))
    if not found:
        return None
    agent, seen = max(found, key=lambda each: each[1].is_in_front)
    return FoundProgram(
        agent, seen.process, tuple(_inner(table, seen.process.pid, agent, programs))
    )


def _outermost(
    table: ProcessTable, pid: int, programs: Mapping[str, str], known: set[int]
) -> Iterator[tuple[str, SeenProcess]]:
    """Yield the agents at or below a process that have no agent above them."""
    if pid in known or (seen := table.look(pid)) is None:
        return
    known.add(pid)
    agent = programs.get(program_of(seen.argv))
    if agent and not _is_script(seen.argv):
        yield agent, seen
        return
    below = [
        each
        for child in table.children(pid)
        for each in _outermost(table, child, programs, known)
    ]
    # A shell script with the name of an agent usually calls the agent.
    yield from below or ([(agent, seen)] if agent else [])


def _inner(
    table: ProcessTable, pid: int, agent: str, programs: Mapping[str, str]
) -> Iterator[Process]:
    for child in table.children(pid):
        seen = table.look(child)
        if seen and programs.get(program_of(seen.argv)) == agent:
            yield seen.process
            yield from _inner(table, child, agent, programs)


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"})
_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno", "python", "pypy", "ruby"} | _SHELLS)

#: Options after which an interpreter reads its program from somewhere other than a file.
_INLINE = frozenset({"-c", "-e", "-p", "--eval", "--print"})

#: Options of interpreters whose value is a separate word.
_VALUED = frozenset({"-r", "--require", "--import", "--loader", "-C", "-W", "-X", "-o", "-O"})

#: First arguments with which an agent's program is not an interactive agent.
_NON_INTERACTIVE = frozenset(
    {"app-server", "mcp-server", "exec-server", "mcp", "serve", "acp", "login", "logout"}
    | {"update", "upgrade", "install", "doctor", "completion", "plugin", "auth"}
)

_SUFFIX = re.compile(r"\.(?:js|mjs|cjs|ts|py|exe|cmd)\Z", re.IGNORECASE)
_VERSION = re.compile(r"[\d.]+\Z")


def program_of(argv: Sequence[str]) -> str:
    """Return the program of a command line, also where an interpreter runs it.

    Empty if it is not interactive, such as an agent's program that runs as a server.
    """
    if not argv:
        return ""
    name, rest = _name(argv[0]), argv[1:]
    if _VERSION.sub("", name) in _INTERPRETERS:
        name, rest = _interpreted(rest)
    is_non_interactive = "app-server" in rest or (rest and rest[0] in _NON_INTERACTIVE)
    return "" if is_non_interactive else name


def _interpreted(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return what an interpreter runs, and with which arguments."""
    number = 0
    while number < len(words):
        word, rest = words[number], words[number + 1 :]
        if word == "-m" and rest:
            return rest[0], rest[1:]
        if word in _INLINE:
            return "", ()
        if not word.startswith("-"):
            return _name(word), rest
        number += 2 if word in _VALUED else 1
    return "", ()


def _is_script(argv: Sequence[str]) -> bool:
    return _VERSION.sub("", _name(argv[0])) in _SHELLS


def _name(word: str) -> str:
    return _SUFFIX.sub("", word.rstrip("/").rpartition("/")[2].lstrip("-"))


#: States of a process that has ended, also if its parent has not reaped it yet.
_ENDED = frozenset({"Z", "X"})


def _started(pid: int) -> str | None:
    """Return when a process began; ``None`` if it has ended, even if not reaped yet."""
    return _start_and_parent(pid)[0]


def read_stat(pid: int) -> list[str]:
    """Return the fields of a process's stat file, from its state on. Raises ``OSError``."""
    # The name before it may contain blanks and brackets.
    return _read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()


def _read(path: str) -> bytes:
    """Read a /proc file whole. There are many, and a ``Path`` takes twice as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = os.read(descriptor, _USUAL_BYTES)
        while part := os.read(descriptor, _USUAL_BYTES):
            found += part
        return found
    finally:
        os.close(descriptor)


#: Bytes that nearly all /proc files of a process fit in.
_USUAL_BYTES = 64 * 1024


def _is_in_front(pid: int) -> bool:
    """Return whether a process is in the foreground of its terminal, and not stopped."""
    try:
        state, _, group, _, _, front, *_ = read_stat(pid)
    except (OSError, ValueError):
        with suppress(psutil.Error):
            return psutil.Process(pid).status() != psutil.STATUS_STOPPED
        return False
    return group == front and state != "T"
