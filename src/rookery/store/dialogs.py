"""Requests in an agent's own dialog: seen on its screen, left to it, answered by keys."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Literal

from rookery.model.facts import SessionId, ToolUsed
from rookery.model.permissions import STOP, Request, RequestId
from rookery.store import requests
from rookery.store.sessions import LIVE
from rookery.store.timestamps import read_stamp

#: Facts after which a dialog that got a key press is a new one, even if it looks the same.
_MOVED = (
    "('tool-called', 'tool-used', 'input-asked', 'input-settled', 'turn-started', 'turn-ended',"
    " 'session-started')"
)


def watched(db: Connection, *, untold: Collection[str] = ()) -> list[SessionId]:
    """Return the sessions with a request whose end only their screen shows.

    ``untold`` are the agents whose hooks report a dialog, but not its end.
    """
    found = (each.session for each in _watched(db, untold))
    return list(dict.fromkeys(found))


def watched_of(
    db: Connection, session: SessionId, *, untold: Collection[str] = ()
) -> list[Request]:
    return [each for each in _watched(db, untold) if each.session == session]


def _watched(db: Connection, untold: Collection[str]) -> list[Request]:
    rows = db.execute(
        "select requests.id from requests join sessions on sessions.id = session"
        " where outcome = 'open' and (handed or source = 'screen'"
        f" or (hook is null and agent in ({', '.join('?' for _ in untold)}))"
        " or (hook is null and subagent <> '' and sessions.runtime <> 'headless'))"
        " order by asked_at",
        tuple(untold),
    )
    return [requests.get(db, RequestId(row["id"])) for row in rows]


def hand_over(db: Connection, request: RequestId) -> None:
    """Leave an open request to its agent's own dialog."""
    db.execute(
        "update requests set handed = 1, deadline = null where id = ? and outcome = 'open'",
        (request,),
    )


def is_handed(db: Connection, request: RequestId) -> bool:
    return _is(db, request, "handed")


def has_dialog(db: Connection, request: RequestId) -> bool:
    """Return whether the agent can ask the same in its own terminal."""
    return _is(db, request, "has_dialog")


def is_asked(db: Connection, request: RequestId) -> bool:
    """Return whether the agent already asks; else it has only announced the call."""
    row = db.execute(
        "select 1 from requests where id = ? and (is_spent or not has_dialog)", (request,)
    ).fetchone()
    return row is not None


def waits_before_tool(db: Connection, request: RequestId) -> bool:
    """Return whether a hook that runs before the tool waits for an open request.

    In that case the agent shows no dialog yet, and runs the tool only after the hook ended.
    """
    row = db.execute(
        "select 1 from requests where id = ? and outcome = 'open' and not is_spent"
        " and hook is not null and not handed",
        (request,),
    ).fetchone()
    return row is not None


def outlives_turn(db: Connection, request: RequestId) -> bool:
    """Return whether a subagent asks: its hook waits, or its dialog can be watched.

    The subagent works in the background, independently of the main agent's turns.
    """
    row = db.execute(
        f"select 1 from requests where id = ? and {_OF_SUBAGENT}", (request,)
    ).fetchone()
    return row is not None


def is_asked_by_subagent(db: Connection, session: SessionId) -> bool:
    """Return whether a request of a session's subagents is open, as in ``outlives_turn``."""
    query = (
        # Without this index, SQLite searches all requests that the session ever had.
        "select 1 from requests indexed by requests_open"
        f" where session = ? and {_OF_SUBAGENT} limit 1"
    )
    return db.execute(query, (session,)).fetchone() is not None


def was_of_subagent(db: Connection, request: RequestId) -> bool:
    """Return whether a subagent asked, whatever has become of the request."""
    return _is(db, request, "subagent <> ''")


#: An open request of a subagent whose end is noticed: by its hook, or on the screen.
_OF_SUBAGENT = """
    outcome = 'open' and subagent <> '' and (
        (hook is not null and not handed)
        or (select runtime from sessions where id = requests.session) <> 'headless')
"""


def _is(db: Connection, request: RequestId, column: str) -> bool:
    row = db.execute(f"select {column} as it from requests where id = ?", (request,)).fetchone()
    return row is not None and bool(row["it"])


def was_just_handed(
    db: Connection, session: SessionId, digest: str, *, since: datetime
) -> bool:
    """Return whether this call was recently left to the agent's dialog, unanswered."""
    row = db.execute(
        "select 1 from requests where session = ? and digest = ? and handed"
        " and (outcome = 'open' or answered_at >= ?)",
        (session, digest, since.isoformat()),
    ).fetchone()
    return row is not None


def note_press(db: Connection, request: RequestId, *, seq: int, is_last: bool) -> None:
    """Record the intent to press a key, in the transaction of its fact, before the press."""
    if is_last:
        db.execute(
            "update requests set presses = presses + 1, pressed_at = ? where id = ?",
            (seq, request),
        )


def withhold(db: Connection, request: RequestId) -> None:
    """Undo ``note_press``: the key was not pressed after all."""
    db.execute(
        "update requests set presses = presses - 1, pressed_at = null"
        " where id = ? and presses > 0",
        (request,),
    )


def was_pressed(db: Connection, request: RequestId) -> int:
    """Return how often a key press to close the dialog of a request was recorded."""
    row = db.execute("select presses from requests where id = ?", (request,)).fetchone()
    return int(row["presses"]) if row else 0


def has_moved_on(db: Connection, request: RequestId) -> bool:
    """Return whether the agent has reported anything since the last key press."""
    row = db.execute(
        f"select 1 from requests r join entries e on e.session = r.session"
        f" and e.seq > r.pressed_at where r.id = ? and e.kind in {_MOVED} limit 1",
        (request,),
    ).fetchone()
    return row is not None


def mark_interrupted(db: Connection, session: SessionId, by: str) -> None:
    """Record who is about to end the open requests of a session without an answer."""
    db.execute(
        "update requests set answered_by = ? where session = ? and outcome = 'open'",
        (by, session),
    )


def interrupted_by(db: Connection, request: RequestId) -> str:
    """Return who interrupted the turn of a request; empty if it was not interrupted."""
    row = db.execute(
        "select answered_by from requests where id = ? and outcome = 'open'", (request,)
    ).fetchone()
    return str(row["answered_by"]) if row else ""


def learn_choice(db: Connection, used: ToolUsed, *, since: datetime) -> RequestId | None:
    """Return the request, answered in the terminal, of a call that has now run.

    Sets its decision in the audit to allowed.
    """
    request = requests.ended_in_terminal(db, used, since=since)
    if request is None:
        return None
    learnt = db.execute(
        "update audit set decision = 'allowed'"
        " where request = ? and by = 'terminal' and decision = 'answered'",
        (request,),
    )
    return request if learnt.rowcount else None


def are_of_one_call(db: Connection, one: RequestId, other: RequestId) -> bool:
    """Return whether two requests are about the same call."""
    row = db.execute(
        "select count(distinct digest) from requests where id in (?, ?)", (one, other)
    ).fetchone()
    return bool(row[0] == 1)


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """What a session's open requests come to, if they are not answered."""

    deadline: datetime | None  #: when the first of them is decided without a person
    missed: int  #: requests that timed out, which a person has not seen
    #: What then happens: the agent's dialog takes over, it is denied, or the agent stops.
    fallback: Literal["dialog", "denial", "stop"] = "dialog"


def pending(db: Connection) -> dict[SessionId, PendingRequest]:
    """Return the first deadline and the number of missed requests, by session."""
    rows = db.execute(
        # With min(), SQLite takes the other columns from the row with the minimum.
        "select session, min(iif(outcome = 'open', deadline, null)) as deadline,"
        f" sum(missed) as missed, iif(tool = '{STOP}', 'stop', iif(has_dialog"
        " and sessions.runtime <> 'headless', 'dialog', 'denial')) as fallback"
        " from requests join sessions on sessions.id = requests.session"
        " where outcome = 'open' or missed group by session"
    )
    return {
        SessionId(row["session"]): PendingRequest(
            read_stamp(row["deadline"]), row["missed"], row["fallback"]
        )
        for row in rows
        if row["deadline"] or row["missed"]
    }


def unexplained(db: Connection) -> list[SessionId]:
    """Return the sessions that ask something in a terminal without a matching request."""
    rows = db.execute(
        f"select id from sessions indexed by sessions_live where {LIVE}"
        " and activity in ('permission', 'question') and runtime <> 'headless'"
        " and started_at is not null and not exists (select 1 from requests where"
        " requests.session = sessions.id and (outcome = 'open' or keys = 'due'))"
    )
    return [SessionId(row["id"]) for row in rows]


def put_off(db: Connection, by: timedelta) -> None:
    """Postpone all deadlines, as the clock jumped or the computer slept."""
    rows = db.execute(
        "select id, deadline from requests where outcome = 'open' and deadline is not null"
    ).fetchall()
    for row in rows:
        later = datetime.fromisoformat(row["deadline"]) + by
        db.execute(
            "update requests set deadline = ? where id = ?", (later.isoformat(), row["id"])
        )


def tell(db: Connection, request: str, session: SessionId) -> None:
    """Record that a session was notified of a question."""
    db.execute(
        "insert into told (request, session) values (?, ?) on conflict do nothing",
        (request, session),
    )


def was_told(db: Connection, request: RequestId, session: SessionId) -> bool:
    found = db.execute(
        "select 1 from told where request = ? and session = ?", (request, session)
    ).fetchone()
    return found is not None
