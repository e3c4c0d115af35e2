"""Read from the kernel which process is the peer of a unix socket, and its ancestors."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from rookery.agents.catalog import SHARED_SERVERS
from rookery.processes import Process, ancestors, is_shared_server, read_stat

#: The variable that names the session in every process that a session's program starts.
VARIABLE = "ROOKERY_SESSION"

#: Bytes of one process's environment that are searched.
MAX_ENVIRONMENT_BYTES = 1024 * 1024

#: Seconds for a server to accept a connection, on which nothing is sent.
CONNECT_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class Position:
    """The terminal of a process, and its process tree there."""

    terminal: int = 0  #: the device of its controlling terminal; 0 if it has none
    tree: frozenset[int] = frozenset()  #: itself and its ancestors on that terminal

    def is_detached_from(self, other: Position) -> bool:
        """Return whether it is on the other's terminal but in no common process tree.

        A shell is an ancestor of all that it runs; a process that forked twice has left it.
        """
        is_together = self.terminal != 0 and self.terminal == other.terminal
        return is_together and self.tree.isdisjoint(other.tree)


@dataclass(frozen=True, slots=True)
class ProcessEvidence:
    """A process, and the evidence of which session it belongs to."""

    chain: tuple[Process, ...]  #: the process itself, then its ancestors, the nearest first
    named: tuple[str, ...] = ()  #: the sessions that their environments name, in that order
    position: Position = Position()
    is_below_shared_server: bool = False  #: an agent's server for many sessions
    leader: Process | None = None  #: the leader of the process's terminal session

    @property
    def process(self) -> Process:
        return self.chain[0]

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return the words of the process, its terminal session's leader and its ancestors."""
        leader = (self.leader,) if self.leader else ()
        return tuple(each.word for each in (self.chain[0], *leader, *self.chain[1:]))


def read_evidence(pid: int) -> ProcessEvidence | None:
    """Read the evidence of a process; ``None`` if it is gone."""
    if not (chain := ancestors(pid)):
        return None
    named = tuple(name for each in chain if (name := _named_by(each.pid)))
    is_shared = any(is_shared_server(each.pid, SHARED_SERVERS) for each in chain)
    leader = Process.of(_leader_of(pid))
    return ProcessEvidence(chain, named, _position(chain), is_shared, leader)


def read_position(pid: int) -> Position:
    """Read a process's terminal, and which of its ancestors are on it."""
    return _position(ancestors(pid))


def _position(chain: Sequence[Process]) -> Position:
    terminal = read_terminal(chain[0].pid) if chain else 0
    if not terminal:
        return Position()
    leader = _leader_of(chain[0].pid)
    tree = (each.pid for each in chain if _leader_of(each.pid) == leader)
    return Position(terminal, frozenset(tree))


def read_terminal(pid: int) -> int:
    """Return the device of a process's controlling terminal; 0 if none is seen."""
    with suppress(OSError, IndexError, ValueError):
        return int(read_stat(pid)[4])
    return 0


def _leader_of(pid: int) -> int:
    """Return the leader of a process's terminal session; 0 if the process is gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def server_pid(path: Path) -> int | None:
    """Return the process that listens on a unix socket; ``None`` if it is unknown."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.settimeout(CONNECT_TIMEOUT_S)
        connection.connect(str(path))
        size = struct.calcsize("3i")
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("3i", told)[0])
    return None


def _named_by(pid: int) -> str:
    """Return the session that a process's environment names; empty if none is seen there."""
    prefix = f"{VARIABLE}=".encode()
    with suppress(OSError), Path(f"/proc/{pid}/environ").open("rb") as file:
        variables = file.read(MAX_ENVIRONMENT_BYTES).split(b"\0")
        found = next((each for each in variables if each.startswith(prefix)), b"")
        return found.removeprefix(prefix).decode(errors="replace")
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid).environ().get(VARIABLE, "")
    return ""
