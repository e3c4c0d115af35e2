"""Capture the screens of agents in the user's own panes, whose output is not streamed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.clock import Clock
from rookery.ports.sightings import Changed, FellQuiet, Sighting
from rookery.processes import Process
from rookery.runtimes.tmux import captures, safe_input
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.panes import Chore, Pane
from rookery.runtimes.tmux.places import UserPlace
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.terminal import PaneTerminal
from rookery.runtimes.tmux.typist import Typist
from rookery.runtimes.tmux.user_servers import ForeignServer

_log = logging.getLogger(__name__)

#: Seconds between two captures of the screens of agents that report nothing themselves.
CAPTURE_INTERVAL_SECONDS = 1.0


@dataclass(slots=True)
class ObservedPane:
    """An agent and the pane that it runs in."""

    pane: Pane
    place: UserPlace
    server: ForeignServer
    process: Process
    typist: Typist
    screen: tuple[bytes, ...] | None = None  #: the last capture
    is_restless: bool = False  #: its screen has changed, and is not quiet yet


class ObservedTerminal(PaneTerminal):
    """The terminal of an agent in the user's own pane, whose output is not streamed."""

    async def screens(self) -> AsyncIterator[tuple[str, ...]]:
        before = None
        while not self._pane.is_over:
            if (screen := await self.read()) != before:
                yield screen
                before = screen
            await self._clock.sleep(CAPTURE_INTERVAL_SECONDS)

    async def is_attached(self) -> bool:
        (panes,) = await self._server.ask(line("list-clients", "-F", "#{pane_id}"))
        return self._name.encode() in panes

    async def _runs_command(self) -> bool:
        return False  # unknown: the pane's program is the user's shell, not the session's

    async def _require_reachable(self) -> None:
        self.typist.require_reachable()
        if (await captures.look_around(self._server, self._name)).is_synchronized:
            raise safe_input.synchronized()


@dataclass(frozen=True, slots=True)
class ScreenCaptures:
    """Captures the attended screens, and reports when one changes or stops changing."""

    panes: Mapping[SessionId, ObservedPane]
    clock: Clock
    sightings: asyncio.Queue[Sighting]
    chores: asyncio.Queue[Chore]
    _servers: set[ForeignServer] = field(default_factory=set)  #: whose screens are captured

    def ensure_capturing(self, observed: ObservedPane) -> None:
        if observed.pane.is_attended and observed.server not in self._servers:
            self._servers.add(observed.server)
            self.chores.put_nowait(partial(self._follow_screens, observed.server))

    async def _follow_screens(self, server: ForeignServer) -> None:
        """Capture the attended screens of a server until none is left."""
        try:
            while panes := [
                each
                for each in self.panes.values()
                if each.server is server and each.pane.is_attended
            ]:
                await self._capture_screens(server, *panes)
                await self.clock.sleep(CAPTURE_INTERVAL_SECONDS)
        finally:
            self._servers.discard(server)

    async def _capture_screens(self, server: ForeignServer, *panes: ObservedPane) -> None:
        shown = (line("capture-pane", "-p", "-t", each.place.pane) for each in panes)
        try:
            for observed, screen in zip(panes, await server.ask(*shown), strict=True):
                self._compare(observed, screen)
        except TmuxRefused:
            if len(panes) > 1:  # one pane is gone; capture the others one by one
                for observed in panes:
                    await self._capture_screens(server, observed)
        except RuntimeFailed as error:
            _log.debug("Screens cannot be seen now: %s", error)

    def _compare(self, observed: ObservedPane, screen: tuple[bytes, ...]) -> None:
        if observed.pane.is_over:
            return
        if screen != observed.screen:
            observed.screen = screen
            self.note_change(observed)
            self.sightings.put_nowait(Changed(observed.pane.session))
        elif (
            observed.is_restless
            and self._now() - observed.pane.last_output >= observed.pane.agent.input.quiet
        ):
            observed.is_restless = False
            self.sightings.put_nowait(FellQuiet(observed.pane.session))

    def note_change(self, observed: ObservedPane) -> None:
        observed.is_restless = True
        observed.pane.last_output = self._now()
        observed.pane.stir()

    def _now(self) -> float:
        return self.clock.now().timestamp()
