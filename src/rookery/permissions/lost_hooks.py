"""Hand requests whose hook program is gone, with their answers, to the agent's own dialog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery.model.facts import InputAsked, InputLeft, KeysWithheld, TurnEnded
from rookery.model.permissions import STOP, Outcome, Request, RequestId
from rookery.permissions.request_lifecycle import RequestLifecycle
from rookery.store import dialogs, hook_replies, request_keys, requests, sessions
from rookery.store.database import Database
from rookery.supervise import all_of, every

#: Seconds between two checks.
CHECK_INTERVAL_S = 1.0

#: A longer time between two checks means that the clock was set or the computer slept.
CLOCK_JUMP = timedelta(seconds=10)

GONE = "its hook is gone"


@dataclass(frozen=True, slots=True)
class LostHooks:
    """Watches for hook programs that do not come back after the daemon was away."""

    database: Database
    permissions: RequestLifecycle

    async def watch(self) -> None:
        """Hand over the requests whose hook program has given up, forever."""
        clock = self.permissions.journal.clock
        before = clock.now()

        async def check() -> None:
            nonlocal before
            now = clock.now()
            if abs(now - before) > CLOCK_JUMP:
                self.permissions.waits.start_over()
            before = now
            await self.check()

        name = "Handing over requests whose hook is gone"
        await every(CHECK_INTERVAL_S, check, name=name, clock=clock)

    async def check(self) -> None:
        """Hand over the requests that are due now; one that fails delays no other."""
        expected = await self.database.read(hook_replies.expected)
        now = self.permissions.journal.clock.now()
        given_up = self.permissions.waits.given_up(expected, now=now)
        leaving = (
            partial(leave, permissions=self.permissions, request=each) for each in given_up
        )
        await all_of(partial(self.database.write, each) for each in leaving)


def hang_up(db: Connection, permissions: RequestLifecycle, request: RequestId) -> None:
    """Record that a hook program hung up: it was killed, or its dialog was answered.

    The screen shows which of the two happened: see ``DialogWatch``.
    """
    found = requests.get(db, request)
    if found.outcome is not Outcome.OPEN:
        _redirect(db, permissions, found)
    elif permissions.has_dialog(db, found) and dialogs.is_asked(db, request):
        permissions.hand_over(db, found, GONE)
    else:
        _drop(db, permissions, found)


def leave(db: Connection, permissions: RequestLifecycle, request: RequestId) -> None:
    """Leave a request to the agent's own dialog: its hook program has given up."""
    if permissions.waits.is_waiting(request):
        return  # it came back at this very moment
    found = requests.get(db, request)
    if found.outcome is not Outcome.OPEN:
        _redirect(db, permissions, found)
    elif permissions.has_dialog(db, found):
        permissions.leave(db, found, GONE)
    else:
        _drop(db, permissions, found)


def _drop(db: Connection, permissions: RequestLifecycle, request: Request) -> None:
    """Withdraw a request that cannot be asked anywhere else."""
    _note_stop(db, permissions, request)
    permissions.withdraw(db, request.id)


def _note_stop(db: Connection, permissions: RequestLifecycle, request: Request) -> None:
    """Record the stop of an agent whose stop hook gave no answer."""
    if request.tool == STOP and not sessions.get(db, request.session).status.is_over:
        words = str(request.input.get("words", ""))
        permissions.journal.append(db, TurnEnded(request.session, words))


def _redirect(db: Connection, permissions: RequestLifecycle, request: Request) -> None:
    """Press keys for an answer that its hook program did not deliver."""
    if request.delivery != "due" or request.by_keys:
        return
    if hook_replies.is_heard(db, request.id):
        # The daemon died after it answered the hook program and before it recorded that.
        permissions.note_delivered(db, request.id)
    elif permissions.has_dialog(db, request) and dialogs.is_asked(db, request.id):
        hook_replies.redirect(db, request.id)
        left = InputLeft(request.session, request.id, GONE)
        # Its dialog is open: the session is asking until the answer is pressed there.
        asks = InputAsked(request.session, request.kind, request.message, request.id)
        is_asking = sessions.get(db, request.session).is_asking
        permissions.journal.append(db, *([left] if is_asking else [left, asks]))
    else:
        _note_stop(db, permissions, request)
        permissions.keep_undelivered(db, request, GONE)
        if request.outcome is Outcome.ALLOWED:
            # If the agent then asks about the same call, this answer allows it.
            hook_replies.note_carried(db, request.id)
        else:
            request_keys.let_go(db, request.id, reason=GONE)
        permissions.journal.append(db, KeysWithheld(request.session, request.id, GONE))
