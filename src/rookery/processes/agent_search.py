"""Find agent programs among processes: in a pane, or above a process that calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from rookery.processes.operating_system import system
from rookery.processes.table import Process, ProcessTable, SeenProcess, walk_up

if TYPE_CHECKING:  # commands of the CLI start faster without it
    from rookery.ports.agent import Agent


def caller_of(pid: int, program: str) -> Process | None:
    """Return the nearest process that runs ``program``, starting with this one and going up.

    If the program runs itself again, as npm packages do, return the outer process.
    """
    nearest = None
    for each in walk_up(pid):
        argv = system.argv(each.pid)
        is_agent = program_of(argv) == program
        if nearest and (not is_agent or _is_script(argv)):
            break
        nearest = each if is_agent else None
    return nearest


def runs_program(pid: int, program: str) -> bool:
    """Return whether a process runs this program, directly or by an interpreter."""
    return program_of(system.argv(pid)) == program


def run_as(agent: Agent) -> str:
    """Return an agent's name in the process table; Rookery's own agents are modules."""
    return agent.program or f"rookery.programs.{agent.name}"


def is_shared(pid: int, servers: Mapping[str, str]) -> bool:
    """Return whether a process was started by a shared server of an agent program.

    Such a server acts for many sessions, with the environment of its first caller.
    """
    return any(is_shared_server(each.pid, servers) for each in islice(walk_up(pid), 1, 3))


def is_shared_server(pid: int, servers: Mapping[str, str]) -> bool:
    """Return whether a process is a program that serves several sessions.

    ``servers`` maps the program's file to the argument that makes it a server. Both must match:
    any program may have such an argument.
    """
    words = system.argv(pid)
    if not any(argument in words for argument in servers.values()):
        return False
    return servers.get(system.executable(pid)) in words


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A running agent program."""

    agent: str
    process: Process  #: the outermost process of the agent
    inner: tuple[Process, ...] = ()  #: descendants in which the same program runs itself

    @property
    def process_keys(self) -> tuple[str, ...]:
        return tuple(each.key for each in (self.process, *self.inner))


def find_agent(
    table: ProcessTable, pid: int, programs: Mapping[str, str]
) -> FoundProgram | None:
    """Return the agent that runs in or below a process; of several, the one in the foreground.

    ``programs`` maps programs to agents.
    """
    agents = list(_outermost(table, pid, programs, set()))
    if not agents:
        return None
    agent, outermost = max(agents, key=lambda each: each[1].is_in_front)
    return FoundProgram(
        agent, outermost.process, tuple(_inner(table, outermost.process.pid, agent, programs))
    )


def _outermost(
    table: ProcessTable, pid: int, programs: Mapping[str, str], visited: set[int]
) -> Iterator[tuple[str, SeenProcess]]:
    """Yield the agents at or below a process that have no agent above them."""
    if pid in visited or (entry := table.look(pid)) is None:
        return
    visited.add(pid)
    agent = programs.get(program_of(entry.argv))
    if agent and not _is_script(entry.argv):
        yield agent, entry
        return
    below = [
        each
        for child in table.children(pid)
        for each in _outermost(table, child, programs, visited)
    ]
    # A shell script with the name of an agent usually calls the agent.
    yield from below or ([(agent, entry)] if agent else [])


def _inner(
    table: ProcessTable, pid: int, agent: str, programs: Mapping[str, str]
) -> Iterator[Process]:
    for child in table.children(pid):
        entry = table.look(child)
        if entry and programs.get(program_of(entry.argv)) == agent:
            yield entry.process
            yield from _inner(table, child, agent, programs)


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"})
_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno", "python", "pypy", "ruby"} | _SHELLS)

#: Options with which an interpreter takes its program from the command line, not from a file.
_INLINE = frozenset({"-c", "-e", "-p", "--eval", "--print"})

#: Options of interpreters whose value is a separate argument.
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


def _interpreted(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return what an interpreter runs, and with which arguments."""
    number = 0
    while number < len(argv):
        word, rest = argv[number], argv[number + 1 :]
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


def _name(argument: str) -> str:
    return _SUFFIX.sub("", argument.rstrip("/").rpartition("/")[2].lstrip("-"))
