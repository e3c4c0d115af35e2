"""Find the sessions that ended unexpectedly and were not resumed yet."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import HEADLESS, OBSERVED, Session
from rookery.store.sessions import LIVE, read_session

#: A branch of a conversation continues its session, too, but does not replace it. Another live
#: session may have the conversation: resumed by hand, for instance.
_NOT_RESUMED = f"""
    not hidden and runtime not in (:observed, :headless) and ended_at > :since
    and not exists (select 1 from sessions as next where next.continues = sessions.id
        and next.launch ->> '$.resumes')
    and not exists (select 1 from sessions as other where other.agent = sessions.agent
        and other.native_id = sessions.native_id and other.{LIVE})
"""

#: Unexpected ends: also a failure of the program, or a long time without activity.
_UNEXPECTED = "(lost or status = 'failed' or (status = 'killed' and ended_by = 'idle'))"


def lost(db: Connection, *, since: datetime) -> list[Session]:
    """Return the sessions that ended with the daemon, tmux or the computer, oldest first."""
    return _read(db, "lost", since)


def ended_unexpectedly(db: Connection, *, since: datetime) -> list[Session]:
    """Return the sessions whose end no person or session asked for, oldest first."""
    return _read(db, _UNEXPECTED, since)


def _read(db: Connection, condition: str, since: datetime) -> list[Session]:
    rows = db.execute(
        f"select * from sessions where {condition} and {_NOT_RESUMED} order by created_at, id",
        {"observed": OBSERVED, "headless": HEADLESS, "since": since.isoformat()},
    )
    return [read_session(row) for row in rows]


def has_conversation(db: Connection, session: SessionId) -> bool:
    """Return whether a session has had a turn, or continues one that had."""
    row = db.execute(
        "select 1 from turns where session = :session union all"
        " select 1 from sessions where id = :session and continues is not null limit 1",
        {"session": session},
    ).fetchone()
    return row is not None
