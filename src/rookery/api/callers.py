"""Identify callers on the unix socket that show no token: a session, or the owner.

This is a guard rail, not a wall: the kernel decides how far a process can hide from others of
the same user, and a process that empties its environment and leaves its process tree and its
terminal cannot be distinguished from the owner's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio

from rookery.api.peer_evidence import Position, ProcessEvidence, read_evidence, read_position
from rookery.model.errors import Forbidden, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.variables import OWN_GIT
from rookery.ports.clock import Clock
from rookery.processes import Process, system
from rookery.processes.peers import server_pid
from rookery.store import session_bindings, sessions
from rookery.store.database import Database

#: Processes whose sessions are cached.
MAX_REMEMBERED = 1024

#: How long a process that belongs to no session is cached as the owner's: a hook may report
#: at any time that an agent above it is a session.
OWNER_REMEMBERED_FOR = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Remembered:
    session: SessionId | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Callers:
    """Identifies processes by their ancestors, their terminal and their environment."""

    database: Database
    #: Returns the session whose program is one of these processes (``Process.key``).
    holder_of: Callable[[Sequence[str]], SessionId | None]
    clock: Clock
    tmux: Path  #: the socket of Rookery's own tmux server
    drivers: Path  #: the socket of the driver host
    process: Callable[[int], Process | None] = Process.of
    read: Callable[[int], ProcessEvidence | None] = read_evidence
    position: Callable[[int], Position] = read_position
    terminal: Callable[[int], int] = system.terminal
    server: Callable[[Path], int | None] = server_pid
    _remembered: OrderedDict[Process, _Remembered] = field(default_factory=OrderedDict)

    async def identify(self, pid: int) -> Identity:
        """Return who a process is. Raises ``RuntimeFailed`` if it is gone, or ``Forbidden``.

        A process of a session that has ended may still read what the session could read.
        """
        session = await self._session_of(pid)
        if session is None:
            return Identity(Scope.OWNER, "unix")
        is_live = await self.database.read(partial(sessions.is_live, session=session))
        return Identity(Scope.SESSION if is_live else Scope.READER, "unix", session)

    async def _session_of(self, pid: int) -> SessionId | None:
        process = self.process(pid)
        remembered = self._remembered.get(process) if process else None
        if remembered and (
            remembered.session or self.clock.now() - remembered.at < OWNER_REMEMBERED_FOR
        ):
            return remembered.session
        evidence = await anyio.to_thread.run_sync(self.read, pid)
        if evidence is None:
            raise RuntimeFailed(f"process {pid} is gone.")
        session = await self._attribute(evidence)
        self._remembered[evidence.process] = _Remembered(session, self.clock.now())
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return session

    async def _attribute(self, evidence: ProcessEvidence) -> SessionId | None:
        """Return the session of a process. Evidence that it cannot forge comes first."""
        candidates = await self.database.read(partial(_find_candidates, evidence=evidence))
        if session := candidates.by_ancestor or self.holder_of(evidence.lineage):
            return session
        if await self._is_below_driver_host(evidence):
            # Only what the host reports is believed: a command chooses its own environment.
            raise _unattributable("Rookery's driver host")
        if evidence.position.terminal:
            beside = partial(self._detached_from, candidates.processes, evidence.position)
            if session := await anyio.to_thread.run_sync(beside):
                return session
        if candidates.by_environment:
            return candidates.by_environment
        await self._refuse_unattributable(evidence)
        return None

    async def _refuse_unattributable(self, evidence: ProcessEvidence) -> None:
        """Refuse a process that an unknown agent may have started. Raises ``Forbidden``."""
        where = "an agent's shared server" if evidence.is_below_shared_server else ""
        if OWN_GIT in evidence.sessions_named:
            # A hook that an agent has configured in a repository, for instance.
            where = "a git command of Rookery's"
        server = await anyio.to_thread.run_sync(self.server, self.tmux)
        ancestors = {each.pid for each in evidence.chain}
        if server in ancestors:
            # An agent can make Rookery's tmux server open a window or run a job.
            where = "Rookery's own tmux server, but in no session's pane"
        if where:
            raise _unattributable(where)

    async def _is_below_driver_host(self, evidence: ProcessEvidence) -> bool:
        host = await anyio.to_thread.run_sync(self.server, self.drivers)
        return host is not None and host in {each.pid for each in evidence.chain[1:]}

    def _detached_from(
        self, processes: Mapping[SessionId, Process], position: Position
    ) -> SessionId | None:
        """Return the session whose terminal a process is on, outside its process tree."""
        return next(
            (
                session
                for session, process in processes.items()
                # The terminal first: it is one read per session, and most have another one.
                if self.terminal(process.pid) == position.terminal
                and position.is_detached_from(self.position(process.pid))
            ),
            None,
        )


def _unattributable(where: str) -> Forbidden:
    return Forbidden(f"this process runs in {where}. Use a terminal of your own.")


@dataclass(frozen=True, slots=True)
class _Candidates:
    by_ancestor: SessionId | None
    by_environment: SessionId | None
    processes: Mapping[SessionId, Process]  #: of the live sessions


def _find_candidates(db: Connection, evidence: ProcessEvidence) -> _Candidates:
    by_process = session_bindings.of_processes(db, [each.key for each in evidence.chain])
    nearest = (by_process[each.key] for each in evidence.chain if each.key in by_process)
    by_environment = (each for each in evidence.sessions_named if sessions.is_known(db, each))
    processes = ((each.id, each.process) for each in sessions.with_processes(db))
    live = {session: Process.read(key) for session, key in processes if key}
    return _Candidates(next(nearest, None), next(map(SessionId, by_environment), None), live)
