"""Dialogs that only an agent's screen tells of: they become requests, and end as such.

Trust dialogs, offers of models, agents without hooks, and every dialog whose hook was lost.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection

from rookery.agents.shared.subjects import is_about
from rookery.model.facts import InputAsked, SessionId, TurnEnded
from rookery.model.lifecycle import Activity
from rookery.model.permissions import (
    DIALOG,
    Call,
    Question,
    Request,
    RequestId,
    digest,
    shortened,
)
from rookery.model.screens import Dialog, View
from rookery.model.sessions import Session
from rookery.permissions import Permissions
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import Runtime
from rookery.store import (
    dialogs,
    evidence,
    observed,
    requests,
    sessions,
    turn_changes,
    waits,
)
from rookery.store.database import Database
from rookery.store.requests import Asking
from rookery.supervise import Reconciler

_log = logging.getLogger(__name__)

#: Seconds between two looks at a dialog that stands, if its screen does not change.
LOOK_SECONDS = 1.0

#: Seconds from a change of the screen to a look at it, and before a second look at a dialog
#: that is gone: while a screen is drawn anew, it may seem so.
SETTLE_SECONDS = 0.1

#: Seconds for which a dialog may stay on a busy screen after it was answered.
LINGERING_SECONDS = 3.0

#: Seconds after which a dialog is drawn, even if it was never seen.
DRAWN_SECONDS = 5.0

#: Characters of a dialog that are kept as evidence of a state; its request has all of it.
SHOWN_CHARACTERS = 400


#: Said before the text of a dialog that only the screen tells of, and only in part.
PARTIAL = "(Its screen shows only a part of this dialog: answer it with rookery attach.) "


def call_of(request: Request) -> Call:
    """Return the call that a request is about."""
    return Call(request.tool, request.input, request.questions, folder=request.made_in)


def about(db: Connection, session: SessionId, dialog: Dialog) -> list[Request]:
    """Return the requests of a session that a dialog shows: open, or answered and not given."""
    due = requests.next_press(db, session)
    known = [
        *requests.open_of(db, session),
        *requests.to_carry(db, session),
        *([due] if due else []),
    ]
    fits = [each for each in known if is_about(dialog, call_of(each))]
    told = [each for each in known if each.source == "hook"]
    # A part of a call may be part of another one, too: only a single request is sure to be it.
    return told if dialog.is_cut and fits and len(told) > 1 else fits


def is_lingering(db: Connection, session: SessionId, dialog: Dialog, now: datetime) -> bool:
    """Return whether a dialog was answered a moment ago, and is only not yet redrawn."""
    since = now - timedelta(seconds=LINGERING_SECONDS)
    answered = map(call_of, requests.answered_since(db, session, since))
    # A rule decides without a request: its hook closes the dialog, if that was drawn.
    ruled = (Call(each.tool, each.input) for each in requests.decided_since(db, session, since))
    return any(is_about(dialog, call) for call in (*answered, *ruled))


def note(
    db: Connection,
    permissions: Permissions,
    session: Session,
    dialog: Dialog,
    *,
    is_told: bool = False,
) -> bool:
    """Make a request of a dialog, unless it is one already. False if it is.

    ``is_told`` is whether it is known already that something is asked.
    """
    if about(db, session.id, dialog) or dialog.asks_back:
        return False
    for stale in requests.open_of(db, session.id):
        if stale.source == "screen":
            permissions.withdraw(db, stale.id)
    asked = _ask(db, permissions, session, dialog)
    if not is_told:
        permissions.journal.append(db, asked)
    now = permissions.journal.clock.now()
    evidence.note_state(
        db, session.id, "screen", at=now, detail=shortened(dialog.text, SHOWN_CHARACTERS)
    )
    return True


def _ask(
    db: Connection, permissions: Permissions, session: Session, dialog: Dialog
) -> InputAsked:
    call, now = _seen(dialog), permissions.journal.clock.now()
    request = requests.add(db, session.id, call, Asking(now, None, None, source="screen"))
    # Before the session is up every dialog counts as a question.
    kind = call.kind if session.started_at else "question"
    return InputAsked(session.id, kind, call.summary, request)


def _seen(dialog: Dialog) -> Call:
    """Describe a dialog that only the screen shows as what is asked."""
    asked = Question((PARTIAL if dialog.is_cut else "") + dialog.text, dialog.options)
    given: dict[str, object] = {"text": dialog.text, "options": list(dialog.options)}
    if dialog.is_cut:
        given["is_cut"] = True
    # By its subjects it is known again when its hook comes: see ``same_dialog``.
    kept = {**given, "subjects": list(dialog.subjects)}
    return Call(
        DIALOG, kept, (asked,), by_keys=True, shown=dialog.kind, mark=digest(DIALOG, given)
    )


@dataclass(frozen=True, slots=True)
class Dialogs:
    """Watches the dialogs whose end no hook will tell."""

    database: Database
    runtime: Runtime
    agents: Mapping[str, Agent]
    permissions: Permissions
    #: The requests whose dialog was seen on the screen: only such a dialog can be gone.
    _drawn: set[RequestId] = field(default_factory=set)

    async def watch(self) -> None:
        """Look after the dialogs that only a screen tells of; for ever."""
        await Reconciler(
            name="Watching dialogs",
            clock=self._clock,
            pending=partial(self.database.read, self._to_look_at),
            step=self._take_a_step,
            changed=self.database.bells.of_work,
        ).run()

    def _to_look_at(self, db: Connection) -> list[SessionId]:
        watched = dialogs.watched(db, untold=self._untold)
        return [*{*watched, *dialogs.unexplained(db)}]

    @property
    def _untold(self) -> list[str]:
        """The agents whose hooks tell of a dialog, but not of its end."""
        told_by = {
            name: agent.hooks.traits.permission if agent.hooks else ""
            for name, agent in self.agents.items()
        }
        return [name for name, hook in told_by.items() if not hook]

    async def _take_a_step(self, session: SessionId) -> bool:
        if session not in await self.database.read(self._to_look_at):
            return False
        changed = self.runtime.terminal(session).next_change()
        await self._look(session)
        await waits.within(LOOK_SECONDS, changed.wait, self._clock)
        await self._clock.sleep(SETTLE_SECONDS)
        return True

    async def _look(self, session: SessionId) -> None:
        view = await self.runtime.terminal(session).view()
        if session in await self.database.read(dialogs.unexplained):
            await self.database.write(partial(self._explain, session=session, view=view))
            return
        gone = await self.database.read(partial(self._gone, session=session, view=view))
        if not gone:
            return
        await self._clock.sleep(SETTLE_SECONDS)
        rested, view = view.is_resting, await self.runtime.terminal(session).view()
        rests = rested and view.is_resting
        withdraw = partial(self._withdraw, session=session, view=view, rests=rests)
        await self.database.write(withdraw)

    def _explain(self, db: Connection, session: SessionId, view: View) -> None:
        """Make a request of what a session is known to ask, once its screen shows it."""
        if view.dialog and session in dialogs.unexplained(db):
            known = sessions.get(db, session)
            note(db, self.permissions, known, view.dialog, is_told=True)

    def _withdraw(self, db: Connection, session: SessionId, view: View, *, rests: bool) -> None:
        gone = self._gone(db, session, view)
        # A list that the person has opened, such as one of models, may belong to no turn.
        has_turn = bool(turn_changes.open_turns(db, session))
        for each in gone:
            self.permissions.withdraw(db, each, rests=rests and not has_turn)
        self._drawn.difference_update(gone)
        known = sessions.get(db, session)
        if view.dialog and known.started_at:
            note(db, self.permissions, known, view.dialog)
        elif gone and rests and self._leaves_end_untold(db, known):
            # It would work on now, had the call been allowed.
            interrupted = TurnEnded(session, "", "interrupted")
            self.permissions.journal.append(db, interrupted)

    def _leaves_end_untold(self, db: Connection, session: Session) -> bool:
        """Return whether a turn runs of which no hook will tell that a refusal has ended it."""
        is_working = session.activity is Activity.WORKING
        return (
            is_working
            and session.agent in self._untold
            and observed.tells_turns(db, session, self.agents[session.agent].abilities)
        )

    def _gone(self, db: Connection, session: SessionId, view: View) -> list[RequestId]:
        """Return the requests whose dialog a screen shows no more."""
        if view.dialog is None and not view.has_no_dialog:
            return []  # the screen cannot be read: the dialog may not fit it
        shown = {each.id for each in about(db, session, view.dialog)} if view.dialog else set()
        self._drawn.update(shown)
        watched = dialogs.watched_of(db, session, untold=self._untold)
        return [each.id for each in watched if each.id not in shown and self._was_drawn(each)]

    def _was_drawn(self, request: Request) -> bool:
        """Return whether its dialog was drawn; its hook may tell of it before it is."""
        age = (self._clock.now() - request.asked_at).total_seconds()
        return request.source == "screen" or request.id in self._drawn or age > DRAWN_SECONDS

    @property
    def _clock(self) -> Clock:
        return self.permissions.journal.clock
