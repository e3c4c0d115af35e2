"""Match the dialog of a hook's call with a request that was read from the screen before.

On a busy machine a dialog is drawn, and read, before its hook arrives; a hook that waits in the
spool arrives seconds later. Both report one dialog, which must be one request.
"""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.agents.shared.dialog_subjects import is_about
from rookery.model.facts import SessionId
from rookery.model.permissions import Call, Outcome, Request
from rookery.model.screens import Dialog
from rookery.store import dialogs, missed_requests, requests


def seen_before(db: Connection, session: SessionId, call: Call) -> Request | None:
    """Return the open request that was read from the screen for the dialog of this call."""
    candidates = requests.seen_on_screen(db, session)
    return next((each for each in candidates if _is_open(each) and shows(each, call)), None)


def is_answered(
    db: Connection, session: SessionId, call: Call, *, hook_ran_at: datetime | None
) -> bool:
    """Return whether the dialog of this call was answered before its hook arrived.

    A dialog that was answered before the hook program ran is an earlier dialog, even if it
    looks the same.
    """
    answered = [each for each in requests.seen_on_screen(db, session) if not _is_open(each)]
    return any(
        shows(each, call) and (each.delivery == "due" or _is_later(each, hook_ran_at))
        for each in answered
    )


def note_seen(db: Connection, request: Request) -> None:
    """Record that the person who answers a request has seen that its call was missed.

    A call that was missed before its agent asked has another request for the agent's dialog.
    """
    same = [
        each.id
        for each in missed_requests.of_session(db, request.session)
        if dialogs.are_of_one_call(db, each.id, request.id)
        or (request.source == "screen" and shows(request, _call_of(each)))
    ]
    missed_requests.see(db, tuple(same))


def shows(request: Request, call: Call) -> bool:
    """Return whether a request that was read from the screen is the dialog of a call."""
    stored = request.input
    options, subjects = stored.get("options", ()), stored.get("subjects", ())
    text = str(stored.get("text", ""))
    is_cut = bool(stored.get("is_cut", False))
    shown = Dialog(request.kind, text, tuple(options), subjects=tuple(subjects), is_cut=is_cut)
    return is_about(shown, call)


def _call_of(request: Request) -> Call:
    return Call(request.tool, request.input, request.questions, folder=request.made_in)


def _is_open(request: Request) -> bool:
    return request.outcome is Outcome.OPEN


def _is_later(request: Request, moment: datetime | None) -> bool:
    return bool(moment and request.answered_at and request.answered_at >= moment)
