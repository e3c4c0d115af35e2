"""Find the agent's process that made a hook call: read from /proc once, and only if needed."""

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

#: Sessions of unknown processes that calls from one session of the kernel may make.
MAX_UNIDENTIFIED = 20

#: Processes that are remembered; all are forgotten when there are more.
MAX_STRANGERS = 1_000


@dataclass(slots=True)
class Strangers:
    """Processes that made calls and have no agent above them, such as a script of the user.

    A process can become another program later. So this only saves a search for something to
    learn about a session; whether a call is a session's own is never concluded from it.
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
    """Sessions whose process is not known, by the kernel's session of the calls that made them.

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
    """The process that made a call, as the kernel tells; else as the call names it."""

    hook: Hook
    agent: Agent
    is_stranger: bool = False  #: it called before, and no agent was found above it
    group: int | None = None  #: the kernel's session that it is in, of a live call

    def look_at_group(self) -> None:
        """Ask the kernel which session of processes the caller is in, before it has gone."""
        if self.hook.pid is not None:
            with suppress(OSError):
                self.group = os.getsid(self.hook.pid)

    def look(self, strangers: Strangers) -> None:
        """Read /proc now, before the transaction that will ask."""
        if self.hook.pid is None or (own := Process.of(self.hook.pid)) is None:
            return
        called_by = (own, run_as(self.agent))
        self.is_stranger = called_by in strangers
        if not self.is_stranger and self.process is None and not self.is_shared:
            strangers.add(called_by)

    @cached_property
    def process(self) -> Process | None:
        """The agent's process that made the call; none where that cannot be told."""
        if self.hook.pid is None:
            return self.hook.process
        if self.is_shared:
            return None
        return caller_of(self.hook.pid, run_as(self.agent))

    @cached_property
    def is_shared(self) -> bool:
        """Whether a server made it that speaks for several sessions; not every agent has one.

        Of other agents, a process that only looks like such a server could speak for any
        session.
        """
        pid, argument = self.hook.pid, self.agent.abilities.server_argument
        servers = {self.agent.program: argument}
        return bool(argument) and pid is not None and is_shared(pid, servers)

    @property
    def to_learn(self) -> Process | None:
        """The process to note for a session that has none."""
        return None if self.is_stranger else self.process

    def is_of(self, process: str | None) -> bool:
        """Whether a session's own process made the call. Raises ``RuntimeFailed``."""
        if self.process and self.process.word == process:
            return True
        if self.hook.pid is not None and Process.of(self.hook.pid) is None:
            # It did not wait for us: the same call is in the spool, and must be new then.
            raise RuntimeFailed("who called is gone")
        return False
