"""Which sessions the driver host has, as far as it can be asked."""

from __future__ import annotations

import logging
from pathlib import Path

from rookery.drivers import commands
from rookery.drivers.event_file import SUFFIX, EventReader, path_of, tells_of_agent
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.runtimes.driven.followed import Followed
from rookery.runtimes.driven.host_connection import HostConnection, HostGone

_log = logging.getLogger(__name__)

#: Seconds for the host to list its sessions; a start of the daemon waits for that.
LIST_SECONDS = 1.0


class HostSessions:
    """The sessions of the host, and those of which it left an event file in ``folder``."""

    def __init__(self, folder: Path, host: HostConnection) -> None:
        self._folder = folder
        self._host = host
        self._found: frozenset[SessionId] = frozenset()
        self._is_listed = False  #: the host itself has answered

    async def find(self) -> frozenset[SessionId]:
        """Return the sessions; of a host that does not answer, those with an event file.

        Without a host, a session whose agent was not up is none: it is started again.
        """
        running = await self._list()
        self._is_listed = running is not None
        left = (
            path.stem
            for path in self._folder.glob(f"*{SUFFIX}")
            if running is None or path.stem in running or tells_of_agent(path)
        )
        self._found = frozenset(map(SessionId, (*(running or ()), *left)))
        return self._found

    async def list_sessions(self) -> frozenset[SessionId]:
        """Return the sessions that the host has now. Raises ``RuntimeFailed``."""
        try:
            reply = await self._host.ask(commands.List())
        except HostGone:
            return frozenset()
        return frozenset(map(SessionId, reply.sessions))

    async def discard(self, session: SessionId) -> None:
        """End a session that the daemon does not know, and delete its event file."""
        await self._host.ask(commands.Release(session))
        path_of(self._folder, session).unlink(missing_ok=True)

    async def end_left(self, session: SessionId) -> None:
        """End an agent that an earlier host has left before it was up: it is started again."""
        path = path_of(self._folder, session)
        if path.exists() and session not in await self.list_sessions():
            left = Followed(session, EventReader(path))
            left.take(left.events.read())
            left.kill()

    async def is_gone(self, session: SessionId) -> bool:
        """Return whether the host does not have a session.

        One that was found is not asked for. One that was not found is looked for again: the
        first time may have been too early.
        """
        if session in self._found:
            return False
        await self.find()
        return self._is_listed and session not in self._found

    async def _list(self) -> tuple[str, ...] | None:
        """Return what the host lists; none if that is not known now."""
        if self._host.trouble:
            return None  # a start of the daemon would wait for it again and again
        try:
            return (await self._host.ask(commands.List(), seconds=LIST_SECONDS)).sessions
        except HostGone:
            return ()
        except RuntimeFailed as error:
            _log.warning("The driver host does not list its sessions: %s", error)
            return None
