"""Turn dialogs that only an agent's screen shows into requests, and close these requests.

They are trust dialogs, model offers, and dialogs of agents without hooks or with a lost hook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection

from rookery.agents.shared.dialog_subjects import is_about
from rookery.model.beliefs import hooks_report_turns
from rookery.model.facts import InputAsked, SessionId, TurnEnded
from rookery.model.lifecycle import Activity
from rookery.model.permissions import (
    DIALOG,
    Call,
    Question,
    Request,
    RequestId,
    digest,
)
from rookery.model.screens import Dialog, View
from rookery.model.sessions import Session
from rookery.model.short_texts import shortened
from rookery.permissions.request_lifecycle import RequestLifecycle
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import Runtime
from rookery.store import (
    audit,
    dialogs,
    evidence,
    request_keys,
    requests,
    sessions,
    turn_changes,
    wait_for_change,
)
from rookery.store.database import Database
from rookery.store.requests import Asking
from rookery.supervise import Reconciler

#: Seconds between two looks at an open dialog if its screen does not change.
LOOK_SECONDS = 1.0

#: Seconds between a change of the screen and a look at it, and before a second look at a
#: dialog that is gone: while a screen is redrawn, it may only seem to be gone.
SETTLE_SECONDS = 0.1

#: Seconds for which a dialog may stay on a busy screen after it was answered.
LINGERING_SECONDS = 3.0

#: Seconds after which a dialog counts as drawn, even if it was never seen.
DRAWN_SECONDS = 5.0

#: Characters of a dialog kept as evidence of a state; its request has the full text.
SHOWN_CHARACTERS = 400


#: Precedes the text of a dialog of which the screen shows only a part.
PARTIAL = "(Its screen shows only a part of this dialog: answer it with rookery attach.) "


def call_of(request: Request) -> Call:
    """Return the call that a request is about."""
    return Call(request.tool, request.input, request.questions, folder=request.made_in)


def about(db: Connection, session: SessionId, dialog: Dialog) -> list[Request]:
    """Return the session's requests that a dialog shows: open, or answered but undelivered."""
    due = request_keys.next_press(db, session)
    pending = [
        *requests.open_of(db, session),
        *request_keys.to_carry(db, session),
        *([due] if due else []),
    ]
    fits = [each for each in pending if is_about(dialog, call_of(each))]
    from_hooks = [each for each in pending if each.source == "hook"]
    # A part of a call may also be part of another call: only a single request is certain.
    return from_hooks if dialog.is_cut and fits and len(from_hooks) > 1 else fits


def is_lingering(db: Connection, session: SessionId, dialog: Dialog, now: datetime) -> bool:
    """Return whether a dialog was answered a moment ago and is not redrawn yet."""
    since = now - timedelta(seconds=LINGERING_SECONDS)
    answered = map(call_of, requests.answered_since(db, session, since))
    # A rule decides without a request: its hook closes the dialog if that was drawn.
    ruled = (Call(each.tool, each.input) for each in audit.decided_since(db, session, since))
    return any(is_about(dialog, call) for call in (*answered, *ruled))


def note(
    db: Connection,
    permissions: RequestLifecycle,
    session: Session,
    dialog: Dialog,
    *,
    is_recorded: bool = False,
) -> bool:
    """Create a request for a dialog. Returns False if the dialog has one already.

    ``is_recorded`` is whether the journal already has the fact that something is asked.
    """
    if about(db, session.id, dialog) or dialog.is_confirmation:
        return False
    for stale in requests.open_of(db, session.id):
        if stale.source == "screen":
            permissions.withdraw(db, stale.id)
    fact = _ask(db, permissions, session, dialog)
    if not is_recorded:
        permissions.journal.append(db, fact)
    now = permissions.journal.clock.now()
    evidence.note_state(
        db, session.id, "screen", at=now, detail=shortened(dialog.text, SHOWN_CHARACTERS)
    )
    return True


def _ask(
    db: Connection, permissions: RequestLifecycle, session: Session, dialog: Dialog
) -> InputAsked:
    call, now = _as_call(dialog), permissions.journal.clock.now()
    request = requests.add(db, session.id, call, Asking(now, None, None, source="screen"))
    # Until the session is up, every dialog counts as a question.
    kind = call.kind if session.started_at else "question"
    return InputAsked(session.id, kind, call.summary, request)


def _as_call(dialog: Dialog) -> Call:
    """Return the call that stands for a dialog which only the screen shows."""
    question = Question((PARTIAL if dialog.is_cut else "") + dialog.text, dialog.options)
    content: dict[str, object] = {"text": dialog.text, "options": list(dialog.options)}
    if dialog.is_cut:
        content["is_cut"] = True
    # The subjects serve to recognise it when its hook arrives: see ``same_dialog``.
    stored = {**content, "subjects": list(dialog.subjects)}
    return Call(
        DIALOG,
        stored,
        (question,),
        by_keys=True,
        shown=dialog.kind,
        mark=digest(DIALOG, content),
    )


@dataclass(frozen=True, slots=True)
class DialogWatch:
    """Watches the dialogs whose end no hook reports."""

    database: Database
    runtime: Runtime
    agents: Mapping[str, Agent]
    permissions: RequestLifecycle
    #: The requests whose dialog was seen on the screen: only such a dialog can be gone.
    _drawn: set[RequestId] = field(default_factory=set)

    async def watch(self) -> None:
        """Watch the dialogs that only a screen shows, forever."""
        await Reconciler(
            name="Watching dialogs",
            clock=self._clock,
            pending=partial(self.database.peek, self._to_look_at),
            step=self._take_a_step,
            changed=self.database.bells.of_work,
        ).run()

    def _to_look_at(self, db: Connection) -> list[SessionId]:
        watched = dialogs.watched(db, untold=self._without_permission_hook)
        return [*{*watched, *dialogs.unexplained(db)}]

    @property
    def _without_permission_hook(self) -> list[str]:
        """The agents without a permission hook: no hook reports the end of their dialogs."""
        permission_hooks = {
            name: agent.hooks.traits.permission if agent.hooks else ""
            for name, agent in self.agents.items()
        }
        return [name for name, hook in permission_hooks.items() if not hook]

    async def _take_a_step(self, session: SessionId) -> bool:
        if session not in await self.database.read(self._to_look_at):
            return False
        changed = self.runtime.terminal(session).next_change()
        await self._look(session)
        await wait_for_change.within(LOOK_SECONDS, changed.wait, self._clock)
        await self._clock.sleep(SETTLE_SECONDS)
        return True

    async def _look(self, session: SessionId) -> None:
        view = await self.runtime.terminal(session).view()
        if session in await self.database.read(dialogs.unexplained):
            await self.database.write(partial(self._explain, session=session, view=view))
            return
        closed = await self.database.read(
            partial(self._closed_requests, session=session, view=view)
        )
        if not closed:
            return
        await self._clock.sleep(SETTLE_SECONDS)
        rested, view = view.is_resting, await self.runtime.terminal(session).view()
        rests = rested and view.is_resting
        withdraw = partial(self._withdraw, session=session, view=view, rests=rests)
        await self.database.write(withdraw)

    def _explain(self, db: Connection, session: SessionId, view: View) -> None:
        """Create a request for what a session is known to ask once its screen shows it."""
        if view.dialog and session in dialogs.unexplained(db):
            current = sessions.get(db, session)
            note(db, self.permissions, current, view.dialog, is_recorded=True)

    def _withdraw(self, db: Connection, session: SessionId, view: View, *, rests: bool) -> None:
        closed = self._closed_requests(db, session, view)
        # A list opened by the user, such as one of models, may belong to no turn.
        has_turn = bool(turn_changes.open_turns(db, session))
        for each in closed:
            self.permissions.withdraw(db, each, rests=rests and not has_turn)
        self._drawn.difference_update(closed)
        current = sessions.get(db, session)
        if view.dialog and current.started_at:
            note(db, self.permissions, current, view.dialog)
        elif closed and rests and self._misses_end_of_turn(db, current):
            # If the call had been allowed, the agent would be working now.
            interrupted = TurnEnded(session, "", "interrupted")
            self.permissions.journal.append(db, interrupted)

    def _misses_end_of_turn(self, db: Connection, session: Session) -> bool:
        """Return whether a turn runs and no hook will report that a refusal has ended it."""
        is_working = session.activity is Activity.WORKING
        return (
            is_working
            and session.agent in self._without_permission_hook
            and hooks_report_turns(evidence.known(db, session, self.agents[session.agent]))
        )

    def _closed_requests(
        self, db: Connection, session: SessionId, view: View
    ) -> list[RequestId]:
        """Return the requests whose dialog is no longer on the screen."""
        if view.dialog is None and not view.has_no_dialog:
            return []  # the screen cannot be parsed: the dialog may not fit on it
        shown = {each.id for each in about(db, session, view.dialog)} if view.dialog else set()
        self._drawn.update(shown)
        watched = dialogs.watched_of(db, session, untold=self._without_permission_hook)
        return [
            each.id
            for each in watched
            if each.id not in shown and self._was_drawn(db, each, view)
        ]

    def _was_drawn(self, db: Connection, request: Request, view: View) -> bool:
        """Return whether its dialog was drawn; its hook may report it earlier."""
        if request.source == "screen" or request.id in self._drawn:
            return True
        if view.dialog and dialogs.outlives_turn(db, request.id):
            return False  # agents draw the dialogs of their subagents one after the other
        age = (self._clock.now() - request.asked_at).total_seconds()
        return age > DRAWN_SECONDS

    @property
    def _clock(self) -> Clock:
        return self.permissions.journal.clock
