"""Apply facts to the row of their session."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model import facts
from rookery.model.errors import SessionUnknown
from rookery.model.facts import Fact
from rookery.model.lifecycle import Activity, SessionState, Status, advance
from rookery.model.sessions import HEADLESS
from rookery.store import relays, sessions
from rookery.store.times import stamp


def project(db: Connection, fact: Fact, *, at: datetime) -> SessionState | None:
    """Apply a fact to its session. Returns the previous state; none if the session is over."""
    query = "select status, activity, reason from sessions where id = ?"
    if (row := db.execute(query, (fact.session,)).fetchone()) is None:
        raise SessionUnknown(fact.session)
    state, now = _state(row), stamp(at)
    if state.status.is_over:
        return None
    after = advance(state, fact)
    if after == state:
        query = "update sessions set last_activity_at = ? where id = ?"
        db.execute(query, (now, fact.session))
    elif after.status is state.status:
        # The usual case. Without the column ``status``, its indexes need no update.
        db.execute(
            "update sessions set activity = ?, reason = ?, since = ?3, last_activity_at = ?3"
            " where id = ?",
            (after.activity, after.reason, now, fact.session),
        )
    else:
        # Any first report of a headless agent proves that it is up; its start may be missed.
        # In a terminal, a dialog can be seen before the agent is up.
        db.execute(
            "update sessions set status = :status, activity = :activity, reason = :reason,"
            " since = :now, last_activity_at = :now, ended_at = iif(:over, :now, null),"
            " started_at = iif(:status = 'running' and runtime = :headless,"
            " coalesce(started_at, :now), started_at) where id = :id",
            {
                **_columns(after),
                "now": now,
                "id": fact.session,
                "over": after.status.is_over,
                "headless": HEADLESS,
            },
        )
    _keep(db, fact, now)
    return state


def _keep(db: Connection, fact: Fact, now: str) -> None:  # noqa: C901 - a table
    """Store what a fact says about a session besides its state."""
    match fact:
        case facts.SessionStarted(session, model, transcript):
            db.execute(
                "update sessions set started_at = coalesce(started_at, ?),"
                " model = case when ? = '' then model else ? end,"
                " transcript_path = case when ? = '' then transcript_path else ? end"
                " where id = ?",
                (now, model, model, transcript, transcript, session),
            )
        case facts.TranscriptFound(session, path):
            db.execute("update sessions set transcript_path = ? where id = ?", (path, session))
        case facts.SessionFound(session):
            db.execute("update sessions set started_at = ? where id = ?", (now, session))
        case facts.ModelChosen(session, model):
            db.execute("update sessions set model = ? where id = ?", (model, session))
        case facts.ConversationLeft(session):
            db.execute("update sessions set native_id = null where id = ?", (session,))
        case facts.SessionRenamed(session, name):
            relays.rename(db, session, before=sessions.get(db, session).name, name=name)
            relays.give_up_aliases(db, session, name)
            db.execute(
                "update sessions set label = iif(label = name, ?, label), name = ?"
                " where id = ?",
                (name, name, session),
            )
        case facts.EndRequested(session, by):
            db.execute("update sessions set ended_by = ? where id = ?", (by, session))
        case facts.SessionEnded(session):
            db.execute(
                "update sessions set ended_by = 'itself' where id = ? and ended_by = ''",
                (session,),
            )
        case _:
            pass


def _columns(state: SessionState) -> dict[str, str | None]:
    return {"status": state.status, "activity": state.activity, "reason": state.reason}


#: Calling the enumeration takes ten times as long as a lookup here.
_STATUSES = {each.value: each for each in Status}
_ACTIVITIES: dict[str | None, Activity] = {each.value: each for each in Activity}


def _state(row: Row) -> SessionState:
    activity = _ACTIVITIES.get(row["activity"])
    return SessionState(_STATUSES[row["status"]], activity, row["reason"])
