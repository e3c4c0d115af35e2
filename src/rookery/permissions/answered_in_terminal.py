"""Close requests that end at an agent's own terminal, and audit them."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import (
    EndRequested,
    Fact,
    InputSettled,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.model.permissions import Outcome, Request, RequestId, Verdict
from rookery.store import audit, requests, sessions
from rookery.store.audit import Decided
from rookery.store.dialogs import interrupted_by, outlives_turn, waits_before_tool
from rookery.store.journal import Entry, Reader

#: The decider of an answer at the keyboard, and of a request that its session's end closed.
TERMINAL, SESSION = "terminal", "the end of its session"

#: The decider of a request that ended while its hook still waited; and the reason.
NO_ANSWER, UNANSWERED = "no answer", "it ended before it was answered"

#: Decisions that only a person at the agent's own dialog can have made.
_AT_THE_KEYBOARD = frozenset({"answered", "allowed"})


def close(db: Connection, entry: Entry) -> None:
    """Close the open requests of a session once no agent waits for them any more."""
    if isinstance(entry.fact, TurnStarted) and entry.fact.resumes:
        return  # one background subagent has reported; another one may still ask
    decision, reason = _ending(entry.fact)
    for request in requests.open_of(db, entry.fact.session):
        if isinstance(entry.fact, SessionStarted) and request.source != "screen":
            continue  # a repeated start in mid-turn, after compaction
        if isinstance(entry.fact, TurnStarted | TurnEnded) and outlives_turn(db, request.id):
            continue  # a background subagent asks, whatever the main agent does
        if isinstance(entry.fact, TurnStarted) and waits_before_tool(db, request.id):
            continue  # typed ahead: after an interruption, the hook would have hung up
        if isinstance(entry.fact, InputSettled) and _is_of_another_dialog(
            db, entry.fact, request
        ):
            continue
        settle_in_terminal(db, request.id, at=entry.at, decision=decision, reason=reason)


def _is_of_another_dialog(db: Connection, settled: InputSettled, request: Request) -> bool:
    """Return whether a request is not about the dialog that was settled."""
    if waits_before_tool(db, request.id):
        return True  # it has shown no dialog yet
    is_known = request.source == "hook"
    return is_known and settled.tool not in {"", request.tool}


READER = Reader(
    frozenset(
        {InputSettled, TurnStarted, TurnEnded, SessionStarted, EndRequested, SessionEnded}
    ),
    close,
)


def _ending(fact: Fact) -> tuple[str, str]:
    """Return the decision, empty if none, and the reason that open requests end with."""
    match fact:
        case TurnEnded(_, _, "interrupted"):
            return "denied", "refused in the terminal"
        case EndRequested() | SessionEnded():
            return "", "its session ended"
        case _:
            return "answered", ""


def _can_show_dialog(db: Connection, request: RequestId) -> bool:
    """Return whether a request may have been answered in a terminal."""
    session = sessions.get(db, requests.get(db, request).session)
    return not (session.is_driven or waits_before_tool(db, request))


def settle_in_terminal(
    db: Connection, request: RequestId, *, at: datetime, decision: str, reason: str
) -> bool:
    """Close a request that ended at the terminal, and audit the decision if there was one."""
    by = TERMINAL if decision else SESSION
    if interrupter := interrupted_by(db, request):
        decision, by, reason = "", interrupter, f"interrupted by {interrupter}"
    elif decision in _AT_THE_KEYBOARD and not _can_show_dialog(db, request):
        decision, by, reason = "", NO_ANSWER, UNANSWERED
    why = reason or "answered in the terminal"
    if not requests.settle(db, request, Verdict(Outcome.GONE, by, why), at=at):
        return False
    ended = requests.get(db, request)
    decided = Decided(
        at=at,
        session=ended.session,
        agent=sessions.get(db, ended.session).agent,
        tool=ended.tool,
        input=ended.input,
        decision=decision or "gone",
        by=by,
        reason=why,
        request=request,
        folder=ended.folder,
    )
    audit.keep(db, decided)
    return True
