"""Find the agent's process that made a hook call. It is read once, and only if needed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from rookery.hook_protocol import Hook
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.processes import Process, caller_of, is_running, is_shared, run_as
from rookery.store.database import Database, Work
from rookery.tracking.real_folders import FolderResolver

T = TypeVar("T")

#: Sessions with unknown processes that calls from one kernel session may create.
MAX_UNIDENTIFIED = 20

#: Maximum callers to remember; once there are more, all are forgotten.
MAX_REMEMBERED_CALLERS = 1_000


@dataclass(slots=True)
class NonAgentCallers:
    """Processes that made calls and have no agent above them, such as a user's script.

    A process can become another program later. So this only avoids a search of the process
    table; it never decides whether a call belongs to a session.
    """

    _callers: set[tuple[Process, str]] = field(default_factory=set)

    def __contains__(self, caller: tuple[Process, str]) -> bool:
        return caller in self._callers

    def add(self, caller: tuple[Process, str]) -> None:
        if len(self._callers) >= MAX_REMEMBERED_CALLERS:
            self._callers.clear()
        self._callers.add(caller)


@dataclass(slots=True)
class Unidentified:
    """Sessions with unknown processes, by the kernel session of the calls that created them.

    One process can call under any number of invented native ids.
    """

    _made: dict[int, list[SessionId]] = field(default_factory=dict)

    def of(self, group: int | None) -> Sequence[SessionId]:
        return self._made.get(group, ()) if group is not None else ()

    def add(self, group: int | None, session: SessionId) -> None:
        if group is None:
            return
        if len(self._made) >= MAX_REMEMBERED_CALLERS:
            self._made.clear()
        self._made.setdefault(group, []).append(session)


class NotRead(Exception):
    """Code in a transaction needs data that was not read before the transaction."""

    def __init__(self, read: Callable[[], Awaitable[None] | None]) -> None:
        super().__init__(read)
        self.read = read


async def write_informed(database: Database, work: Work[T]) -> T:
    """Run ``work`` in a transaction; read what it lacks and repeat until nothing is missing."""
    while True:
        try:
            return await database.write(work)
        except NotRead as missing:
            if (reading := missing.read()) is not None:
                await reading


class _Seen(NamedTuple):
    """What the process table says about a call's process."""

    process: Process | None  #: the agent's process that made the call
    is_shared: bool = False
    is_gone: bool = False  #: the caller exited before it was found: it does not wait


@dataclass(slots=True)
class HookCaller:
    """The process that made a call, according to the kernel or else to the call itself.

    Everything is read before the transaction. What most calls do not need is read only if the
    transaction raises ``NotRead``, and the transaction is then repeated.
    """

    hook: Hook
    agent: Agent
    cwd: str = ""
    folders: FolderResolver = field(default_factory=FolderResolver)
    is_known_non_agent: bool = False  #: this process called before and has no agent above it
    _seen: _Seen | None = None
    _folder: str | None = None
    _group: tuple[int | None] | None = None
    _running: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.hook.pid is None:
            self._seen, self._group = _Seen(self.hook.process), (None,)

    def look(self, non_agents: NonAgentCallers) -> None:
        """Read the process table, unless the caller is known to be no agent."""
        if self.hook.pid is None:
            return
        if (calling := Process.of(self.hook.pid)) is None:
            self._seen = _Seen(None, is_gone=True)
            return
        called_by = (calling, run_as(self.agent))
        self.is_known_non_agent = called_by in non_agents
        if self.is_known_non_agent:
            return
        self.look_closely()
        if self.process is None and not self.is_shared:
            non_agents.add(called_by)

    def look_closely(self) -> None:
        """Find the agent's process of a live call in the process table."""
        if (pid := self.hook.pid) is None:
            return
        if self._is_shared_server(pid):
            self._seen = _Seen(None, is_shared=True)
        else:
            process = caller_of(pid, run_as(self.agent))
            # Asked after the search: if the caller is still there, the search was complete.
            self._seen = _Seen(process, is_gone=process is None and Process.of(pid) is None)

    async def look_at_folder(self) -> None:
        """Resolve the links in the path of the caller's folder."""
        self._folder = await self.folders.resolve(self.cwd)

    def _look_at_group(self) -> None:
        self._group = (None,)
        if (pid := self.hook.pid) is not None:
            with suppress(OSError):
                self._group = (os.getsid(pid),)

    def _is_shared_server(self, pid: int) -> bool:
        argument = self.agent.abilities.server_argument
        return bool(argument) and is_shared(pid, {self.agent.program: argument})

    @property
    def process(self) -> Process | None:
        """The agent's process that made the call; None if it cannot be determined."""
        return self._look_result.process

    @property
    def is_shared(self) -> bool:
        """Whether a server that acts for several sessions made the call.

        It is False for agents without such a server: otherwise a process that only looks like
        one could act for any session.
        """
        return self._look_result.is_shared

    @property
    def folder(self) -> str:
        """The caller's folder, without links; empty if unknown."""
        if self._folder is None:
            raise NotRead(self.look_at_folder)
        return self._folder

    @property
    def group(self) -> int | None:
        """The kernel session of the calling process; None if it is unknown."""
        if self._group is None:
            raise NotRead(self._look_at_group)
        return self._group[0]

    @property
    def to_learn(self) -> Process | None:
        """The process to record for a session that has none."""
        return None if self.is_known_non_agent else self.process

    def is_of(self, process: str | None) -> bool:
        """Return whether a session's own process made the call. Raises ``RuntimeFailed``."""
        if self.process and self.process.key == process:
            return True
        if self._look_result.is_gone:
            # The caller did not wait for an answer, so it has also spooled the call. That copy
            # must be accepted as new, so this one must not be recorded.
            raise RuntimeFailed("the caller is gone")
        return False

    def sees_running(self, process: str) -> bool:
        """Return whether a process, which need not be the caller's, runs."""
        if process not in self._running:
            raise NotRead(partial(self._look_at, process))
        return self._running[process]

    def _look_at(self, process: str) -> None:
        self._running[process] = is_running(Process.read(process))

    @property
    def _look_result(self) -> _Seen:
        if self._seen is None:
            raise NotRead(self.look_closely)
        return self._seen
