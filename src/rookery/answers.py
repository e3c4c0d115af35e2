"""Presses a person's answers into agents' own dialogs, where no hook carries them.

A key is pressed only into the very dialog that the answer is for, and looked after: an agent
may ignore it in a dialog's first moments.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection

from rookery.agents import keys
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import DeliveryWaited, KeysPressed, SessionId
from rookery.model.permissions import Call, Request, Verdict, telling
from rookery.model.screens import Dialog, View, squeeze
from rookery.permissions import Permissions
from rookery.ports import Agent, Clock, Runtime
from rookery.store import requests, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.serving import serve

_log = logging.getLogger(__name__)

#: Seconds for a dialog to be drawn, or to be gone after a key.
REACTION = 0.3

#: How often it is looked for the dialog, and a key pressed; and how often at most in vain.
TRIES, LATEST = 20, 8

#: Seconds before something that should not have happened may happen again.
TROUBLE = 10.0


@dataclass(frozen=True, slots=True)
class Answers:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    permissions: Permissions

    async def press(self) -> None:
        """Serve the sessions whose dialogs have an answer; for ever."""
        await serve(self.database, requests.to_press, self._take_a_step)

    async def _take_a_step(self, session: SessionId) -> bool:
        try:
            request = await self.database.read(partial(requests.next_press, session=session))
            if request is None:
                return False
            await self._see_through(request)
        except RuntimeFailed:
            await self._clock.sleep(REACTION)
        except Exception:  # noqa: BLE001 - a supervised boundary
            _log.exception("An answer for %s is in trouble.", session)
            await self._clock.sleep(TROUBLE)
        return True

    async def _see_through(self, request: Request) -> None:
        """Press until the dialog is gone; or take the answer back, if it cannot be given."""
        verdict = await self.database.read(partial(requests.verdict_of, request=request.id))
        known = await self.database.read(lambda db: sessions.get(db, request.session))
        was_there = False
        for tries in range(TRIES if verdict and not known.status.is_over else 0):
            view = await self.runtime.view(request.session)
            # What is not there may be still to come: a hook tells before the dialog is drawn.
            if view.dialog is None and (was_there or tries > LATEST):
                await self.database.write(partial(self._note, request=request))
                return
            if view.dialog is not None and verdict:
                was_there = True
                await self._press(request, view, verdict, self.agents[known.agent])
            await self._clock.sleep(REACTION)
        await self.database.write(partial(self._give_up, request=request))

    async def _press(
        self, request: Request, view: View, verdict: Verdict, agent: Agent
    ) -> None:
        if view.dialog is None or not _is_about(view.dialog, request):
            return
        if named := agent.keys_for(view.dialog, verdict):
            pressed = KeysPressed(request.session, " ".join(named), verdict.by)
            # Written down first: who reads the journal knows of every key.
            await self.database.write(lambda db: self.journal.append(db, pressed))
            await self.runtime.press(request.session, *named)

    def _note(self, db: Connection, request: Request) -> None:
        self.permissions.note_press(db, request)

    def _give_up(self, db: Connection, request: Request) -> None:
        """Let it be asked again: it stands as if nobody had answered."""
        requests.reopen(db, request.id)
        reason = "the answer could not be pressed; give it in its terminal."
        self.journal.append(db, DeliveryWaited(request.session, reason))

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _is_about(dialog: Dialog, request: Request) -> bool:
    """Whether a dialog is what was asked: what was said before it may name the same."""
    if not telling(request.input):
        return squeeze(request.tool) in squeeze(dialog.text)
    return keys.is_about(dialog, Call(request.tool, request.input))
