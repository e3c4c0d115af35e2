"""Find the agent's process that made a hook call. It is read once, and only if needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from rookery.hook_protocol import Hook
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.processes import Process, caller_of, is_running, is_shared, run_as
from rookery.sessions.adopt import real_folder
from rookery.store.database import Database, Work

T = TypeVar("T")

#: Sessions with unknown processes that calls from one kernel session may create.
MAX_UNIDENTIFIED = 20

#: Maximum processes to remember; beyond it all are forgotten.
MAX_STRANGERS = 1_000


@dataclass(slots=True)
class Strangers:
    """Processes that made calls and have no agent above them, such as a user's script.

    A process can become another program later. So this only saves a search for something to
    learn about a session; it never decides whether a call is a session's own.
    """

    _known: set[tuple[Process, str]] = field(default_factory=set)

    def __contains__(self, caller: tuple[Process, str]) -> bool:
        return caller in self._known

    def add(self, caller: tuple[Process, str]) -> None:
        if len(self._known) >= MAX_STRANGERS:
            self._known.clear()
        self._known.add(caller)


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
        if len(self._made) >= MAX_STRANGERS:
            self._made.clear()
        self._made.setdefault(group, []).append(session)


class NotRead(Exception):
    """Work in a transaction needs what was not read before it."""

    def __init__(self, read: Callable[[], object]) -> None:
        super().__init__(read)
        self.read = read


async def write_informed(database: Database, work: Work[T]) -> T:
    """Run ``work`` in a transaction, again for as long as it needs more to be read."""
    while True:
        try:
            return await database.write(work)
        except NotRead as missing:
            missing.read()


class _Seen(NamedTuple):
    """What the process table says about a call's process."""

    process: Process | None  #: the agent's process that made the call
    is_shared: bool = False
    is_gone: bool = False  #: it did not wait for an answer


@dataclass(slots=True)
class HookCaller:
    """The process that made a call, according to the kernel or else to the call itself.

    Everything is read before the transaction: what most calls do not need only after that
    has raised ``NotRead``.
    """

    hook: Hook
    agent: Agent
    cwd: str = ""
    is_stranger: bool = False  #: it called before, and no agent was found above it
    _seen: _Seen | None = None
    _folder: str | None = None
    _group: tuple[int | None] | None = None
    _running: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.hook.pid is None:
            self._seen, self._group = _Seen(self.hook.process), (None,)

    def look(self, strangers: Strangers) -> None:
        """Read the process table, unless the caller is known as a stranger."""
        if self.hook.pid is None:
            return
        if (own := Process.of(self.hook.pid)) is None:
            self._seen = _Seen(None, is_gone=True)
            return
        called_by = (own, run_as(self.agent))
        self.is_stranger = called_by in strangers
        if self.is_stranger:
            return
        self.look_closely()
        if self.process is None and not self.is_shared:
            strangers.add(called_by)

    def look_closely(self) -> None:
        """Read all that the process table says about a live call."""
        if (pid := self.hook.pid) is None:
            return
        if self._is_shared_server(pid):
            self._seen = _Seen(None, is_shared=True)
        else:
            process = caller_of(pid, run_as(self.agent))
            # Asked after the search: if the caller is still there, the search was complete.
            self._seen = _Seen(process, is_gone=process is None and Process.of(pid) is None)

    def look_at_folder(self) -> None:
        """Resolve the links in the path of its folder."""
        self._folder = real_folder(self.cwd)

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
        """Whether a server that acts for several sessions made it; only some agents have one.

        For other agents it is False: else a process that only looks like such a server could
        act for any session.
        """
        return self._look_result.is_shared

    @property
    def folder(self) -> str:
        """Its folder, without links; empty if it is unknown."""
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
        return None if self.is_stranger else self.process

    def is_of(self, process: str | None) -> bool:
        """Return whether a session's own process made the call. Raises ``RuntimeFailed``."""
        if self.process and self.process.word == process:
            return True
        if self._look_result.is_gone:
            # It did not wait for an answer: the call is also spooled, and must be new then.
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
