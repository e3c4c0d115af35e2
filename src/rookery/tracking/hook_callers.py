"""Find the agent's process that made a hook call. It is read once, and only if needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from rookery.hook_protocol import Hook
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.processes import Process, caller_of, is_shared, run_as

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


@dataclass
class HookCaller:
    """The process that made a call, according to the kernel or else to the call itself."""

    hook: Hook
    agent: Agent
    is_stranger: bool = False  #: it called before, and no agent was found above it
    group: int | None = None  #: the kernel session of the process, for a live call

    def look_at_group(self) -> None:
        """Ask the kernel for the session of the calling process before that exits."""
        if self.hook.pid is not None:
            with suppress(OSError):
                self.group = os.getsid(self.hook.pid)

    def look(self, strangers: Strangers) -> None:
        """Read the process table now, before the transaction that needs it."""
        if self.hook.pid is None or (own := Process.of(self.hook.pid)) is None:
            return
        called_by = (own, run_as(self.agent))
        self.is_stranger = called_by in strangers
        if not self.is_stranger and self.process is None and not self.is_shared:
            strangers.add(called_by)

    @cached_property
    def process(self) -> Process | None:
        """The agent's process that made the call; None if it cannot be determined."""
        if self.hook.pid is None:
            return self.hook.process
        if self.is_shared:
            return None
        return caller_of(self.hook.pid, run_as(self.agent))

    @cached_property
    def is_shared(self) -> bool:
        """Whether a server that acts for several sessions made it; only some agents have one.

        For other agents it is False: else a process that only looks like such a server could
        act for any session.
        """
        pid, argument = self.hook.pid, self.agent.abilities.server_argument
        servers = {self.agent.program: argument}
        return bool(argument) and pid is not None and is_shared(pid, servers)

    @property
    def to_learn(self) -> Process | None:
        """The process to record for a session that has none."""
        return None if self.is_stranger else self.process

    def is_of(self, process: str | None) -> bool:
        """Return whether a session's own process made the call. Raises ``RuntimeFailed``."""
        if self.process and self.process.word == process:
            return True
        if self.hook.pid is not None and Process.of(self.hook.pid) is None:
            # It did not wait for an answer: the call is also spooled, and must be new then.
            raise RuntimeFailed("who called is gone")
        return False
