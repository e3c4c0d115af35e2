"""Press a person's answers in agents' own dialogs, where no hook can return them.

A key is pressed only in the exact dialog that the answer is for. The intent is on disk before
the key is pressed, and the pane keeps a receipt of it: whenever the daemon dies, an answer is
neither pressed twice nor forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from sqlite3 import Connection

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import KeysPressed, KeysWithheld, SessionId
from rookery.model.lifecycle import Status
from rookery.model.permissions import Request, Verdict
from rookery.model.screens import Dialog, Press
from rookery.model.sessions import Session
from rookery.permissions.request_lifecycle import RequestLifecycle
from rookery.permissions.screen_dialogs import about, call_of
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import Runtime
from rookery.store import dialogs, hook_replies, request_keys, requests, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler

#: Seconds between two looks at a dialog.
LOOK_SECONDS = 0.3

#: Maximum looks at one dialog, and looks without a dialog before it counts as not shown.
MAX_LOOKS, MAX_LOOKS_WITHOUT_DIALOG = 40, 9

#: Looks before a step that had no effect is repeated.
LOOKS_BEFORE_REPEAT = 7

#: Looks without a dialog before it counts as closed, if the screen shows nothing else.
LOOKS_UNTIL_CLOSED = 4

#: Maximum presses of a key that ends a dialog: agents ignore some at first.
MAX_PRESSES = 3


class NotPressed(StrEnum):
    """Why an answer was not entered, as the user reads it."""

    NO_DIALOG = "its dialog was gone before the answer could be given"
    UNREADABLE = (
        "its dialog cannot be read, perhaps because it does not fit its screen;"
        " answer it with rookery attach, or with rookery keys"
    )
    OTHER_DIALOG = "the dialog on its screen is not the one that was answered"
    UNCLEAR = "more than one request fits the dialog on its screen"
    NO_KEY = "no key is known that is sure to give this answer in its dialog"
    NOT_TAKEN = "its dialog did not take the key"
    NO_TERMINAL = "it has no terminal to press a key in"
    UNREACHABLE = "its pane could not be reached"
    CHANGED = "its dialog changed just before the key was pressed"
    OVER = "its session ended before the answer could be given"
    UNSEEN = "its session ended before the answer was seen to take effect"


@dataclass(frozen=True, slots=True)
class _Standing:
    """The state of an answer before each look."""

    session: Session
    verdict: Verdict
    presses: int  #: presses of keys that should end its dialog
    has_moved: bool  #: whether the agent has reported anything since the last of them
    may_be_delivered: bool  #: its hook program may have delivered the answer before it died


@dataclass(slots=True)
class _Course:
    """The progress of the steps towards one answer."""

    request: Request
    looks: int = 0
    absent: int = 0  #: how many of the last looks showed no dialog
    step: Press | None = None
    dialog: Dialog | None = None  #: the dialog in which the step was taken
    is_pressed: bool = False  #: a key that ends the dialog was pressed by this daemon
    last_dialog: Dialog | None = None  #: the dialog at the last look
    waited: int = 0  #: looks since the step
    why: NotPressed = NotPressed.NO_DIALOG  #: why no step was taken at the last look


@dataclass(frozen=True, slots=True)
class DialogAnswers:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    permissions: RequestLifecycle

    async def press(self) -> None:
        """Press the pending answers of all sessions, forever."""
        await Reconciler(
            name="Answering dialogs",
            clock=self._clock,
            pending=partial(self.database.peek, request_keys.to_press),
            step=self._take_a_step,
            changed=self.database.bells.of_work,
        ).run()

    async def _take_a_step(self, session: SessionId) -> bool:
        request = await self.database.read(partial(request_keys.next_press, session=session))
        if request is None:
            return False
        await self._press_until_gone(_Course(request))
        return True

    async def _press_until_gone(self, course: _Course) -> None:
        """Press keys until the dialog is gone, or reopen the request if that is impossible."""
        standing: _Standing | None = None
        while course.looks < MAX_LOOKS:
            standing = await self.database.read(partial(_standing, request=course.request))
            if standing is None:
                return
            if standing.session.status.is_over:
                await self._settle_after_end(course, standing)
                return
            if not standing.session.has_terminal:
                break
            try:
                if await self._look(course, standing):
                    return
            except RuntimeFailed:
                course.why = NotPressed.UNREACHABLE
            course.looks += 1
            await self._clock.sleep(LOOK_SECONDS)
        why = NotPressed.NO_TERMINAL if course.looks == 0 else course.why
        if why is NotPressed.NO_DIALOG and standing and standing.may_be_delivered:
            await self.database.write(partial(self._note_pressed, request=course.request))
            return
        give_up = self._close if why is NotPressed.NO_DIALOG else self._give_up
        await give_up(course.request, why)

    async def _look(self, course: _Course, standing: _Standing) -> bool:
        """Look at the dialog once and take the next step in it. Returns True if done."""
        request, view = (
            course.request,
            await self.runtime.terminal(course.request.session).view(),
        )
        dialog = view.dialog
        course.absent = course.absent + 1 if dialog is None else 0
        # A pane whose program has just died shows no dialog, either.
        is_alive = view.box is not None or view.is_working or course.absent > LOOKS_UNTIL_CLOSED
        if standing.presses and (standing.has_moved or (dialog is None and is_alive)):
            await self.database.write(partial(self._note_pressed, request=request))
            return True
        if dialog is None:
            # The dialog may still be to come: a hook reports it before it is drawn.
            course.why = NotPressed.NO_DIALOG if view.has_no_dialog else NotPressed.UNREADABLE
            if course.absent > MAX_LOOKS_WITHOUT_DIALOG:
                course.looks = MAX_LOOKS
            return False
        fits = await self.database.read(partial(about, session=request.session, dialog=dialog))
        is_next = bool(standing.presses) and dialog.is_confirmation
        if not is_next and request.id not in {each.id for each in fits}:
            if standing.presses:  # our dialog is gone; another one appeared
                await self.database.write(partial(self._note_pressed, request=request))
                return True
            course.why = NotPressed.OTHER_DIALOG
        elif len(fits) > 1:
            course.why = NotPressed.UNCLEAR
        else:
            await self._step(course, standing, dialog)
        return False

    async def _step(self, course: _Course, standing: _Standing, dialog: Dialog) -> None:
        agent, request = self.agents[standing.session.agent], course.request
        is_still, course.last_dialog = dialog == course.last_dialog, dialog
        if course.step is not None and not is_still:
            return  # it redraws after the last step, or closes: look again
        keys = agent.screen.keys if agent.screen else None
        step = keys.keys_for(dialog, call_of(request), standing.verdict) if keys else None
        if step is None:
            course.why = NotPressed.NO_KEY
        elif standing.presses and not step.is_last and not dialog.is_confirmation:
            # A key to end the dialog was pressed: what remains of it takes no other step.
            course.why = NotPressed.NOT_TAKEN
        elif step.is_last and standing.presses >= MAX_PRESSES:
            course.why = NotPressed.NOT_TAKEN
        elif await self._is_due(course, standing, step, dialog):
            course.step, course.dialog, course.waited = step, dialog, 0
            await self._press(course, standing, step, dialog)

    async def _is_due(
        self, course: _Course, standing: _Standing, step: Press, dialog: Dialog
    ) -> bool:
        """Return whether to take a step now, or to wait until the last one shows."""
        request = course.request
        is_same = (course.step, course.dialog) == (step, dialog)
        if is_same or (step.is_last and standing.presses):
            course.waited += 1
            course.why = NotPressed.NOT_TAKEN
            sent = await self.runtime.terminal(request.session).last_receipt()
            if step.is_last and sent != _receipt(request, standing.presses):
                return True  # the daemon died before the key was pressed
            if step.is_last and request.source == "screen":
                return False  # the next dialog may look exactly like this one
            return course.waited > LOOKS_BEFORE_REPEAT
        return True

    async def _press(
        self, course: _Course, standing: _Standing, step: Press, dialog: Dialog
    ) -> None:
        request = course.request
        intend = partial(self._intend, request=request, step=step, by=standing.verdict.by)
        await self.database.write(intend)
        # Look again: writing to disk took a while.
        terminal = self.runtime.terminal(request.session)
        if (await terminal.view()).dialog != dialog:
            await self.database.write(partial(self._withhold, request=request, step=step))
            return
        number = standing.presses + step.is_last
        await terminal.press_in_dialog(step, receipt=_receipt(request, number))
        course.is_pressed = course.is_pressed or step.is_last

    async def _settle_after_end(self, course: _Course, standing: _Standing) -> None:
        """Settle an answer whose session has ended: some answers end their program."""
        session, request = standing.session, course.request
        is_own_end = session.status is not Status.KILLED and not session.lost
        if course.is_pressed and is_own_end:
            await self.database.write(partial(self._note_pressed, request=request))
        else:
            why = NotPressed.UNSEEN if standing.presses else NotPressed.OVER
            await self._close(request, why)

    def _intend(self, db: Connection, request: Request, step: Press, by: str) -> None:
        key_names = " ".join(step.keys) or "words"
        seq = self.journal.append(db, KeysPressed(request.session, key_names, by, request.id))
        dialogs.note_press(db, request.id, seq=seq, is_last=step.is_last)

    def _withhold(self, db: Connection, request: Request, step: Press) -> None:
        if step.is_last:
            dialogs.withhold(db, request.id)
        self.journal.append(db, KeysWithheld(request.session, request.id, NotPressed.CHANGED))

    def _note_pressed(self, db: Connection, request: Request) -> None:
        self.permissions.note_press(db, request)

    async def _give_up(self, request: Request, why: NotPressed) -> None:
        """Reopen a request as if it had not been answered."""

        def give_up(db: Connection) -> None:
            self.permissions.keep_undelivered(db, request, why)
            request_keys.reopen(db, request.id, reason=why)
            self.journal.append(db, KeysWithheld(request.session, request.id, why))

        await self.database.write(give_up)

    async def _close(self, request: Request, why: NotPressed) -> None:
        """Close a request that cannot be answered any more."""

        def let_go(db: Connection) -> None:
            self.permissions.keep_undelivered(db, request, why)
            request_keys.let_go(db, request.id, reason=why)
            self.journal.append(db, KeysWithheld(request.session, request.id, why))
            self.permissions.settle(db, request.session)

        await self.database.write(let_go)

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _receipt(request: Request, number: int) -> str:
    return f"{request.id}.{number}"


def _standing(db: Connection, request: Request) -> _Standing | None:
    """Read the state of an answer. None if it must not be pressed any more."""
    verdict = requests.verdict_of(db, request.id)
    if verdict is None or requests.get(db, request.id).delivery != "due":
        return None
    presses = dialogs.was_pressed(db, request.id)
    moved = presses > 0 and dialogs.has_moved_on(db, request.id)
    may_be_delivered = hook_replies.may_be_told(db, request.id)
    return _Standing(
        sessions.get(db, request.session), verdict, presses, moved, may_be_delivered
    )
