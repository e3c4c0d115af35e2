"""Apply facts to the row of their session."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection
from typing import NamedTuple

from rookery.model import facts
from rookery.model.errors import SessionUnknown
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import Activity, SessionState, Status, advance
from rookery.model.sessions import HEADLESS, MAX_FIRST_PROMPT_CHARACTERS
from rookery.store import relays, sessions
from rookery.store.timestamps import stamp


class SessionRow(NamedTuple):
    """The fields of a session that facts change most often."""

    state: SessionState
    input_origin: str
    background: int  #: commands that its agent has left running
    is_prompted: bool  #: its first prompt is known
    runtime: str


def read(db: Connection, session: SessionId) -> SessionRow:
    row = db.execute(
        "select status, activity, reason, last_input_origin, background, first_prompt <> '',"
        " runtime from sessions where id = ?",
        (session,),
    ).fetchone()
    if row is None:
        raise SessionUnknown(session)
    status, activity, reason, origin, background, is_prompted, runtime = row
    state = SessionState(_STATUSES[status], _ACTIVITIES.get(activity), reason)
    return SessionRow(state, origin, background, bool(is_prompted), runtime)


#: Numbered parameters: binding them by name takes a sixth of the statement's time.
_SET_ACTIVITY = """
update sessions set activity = ?2, reason = ?3, since = coalesce(?4, since),
 last_activity_at = ?5, last_input_origin = ?6, background = ?7 where id = ?1"""

#: Any first report of a headless agent proves that it is up; its start may be missed. In a
#: terminal, a dialog can be seen before the agent is up.
_SET_STATUS = """
update sessions set activity = ?2, reason = ?3, since = coalesce(?4, since),
 last_activity_at = ?5, last_input_origin = ?6, background = ?7,
 status = ?8, ended_at = iif(?9, ?5, null), started_at = iif(?8 = 'running' and runtime = ?10,
 coalesce(started_at, ?5), started_at) where id = ?1"""


#: An agent may call several tools at once: only the end of the last one is stored.
_SET_TOOL_END = """
update sessions set last_activity_at = ?1,
 tool_ended_at = iif(last_tool = ?3, ?1, tool_ended_at) where id = ?2"""


def project(
    db: Connection, fact: Fact, before: SessionRow, *, at: datetime, parcel: int | None
) -> None:
    """Apply a fact to its session, in one statement where that is possible.

    ``parcel`` is the parcel whose arrival the fact proves.
    """
    now, after = stamp(at), advance(before.state, fact)
    origin, background = _input_and_background(fact, before, parcel)
    match fact:
        case facts.TurnStarted(session, prompt, resumes=False):
            if prompt and not before.is_prompted:
                note_first_prompt(db, session, prompt)
        case _:
            pass
    is_same = after == before.state
    if is_same and (origin, background) == (before.input_origin, before.background):
        if not _is_of_daemon(fact, before):
            _note_activity(db, fact, now)
    else:
        set_since = None if is_same else now
        values = (
            fact.session,
            after.activity,
            after.reason,
            set_since,
            now,
            origin,
            background,
        )
        # Without the column ``status``, as usually, its indexes need no update.
        if after.status is before.state.status:
            db.execute(_SET_ACTIVITY, values)
        else:
            db.execute(_SET_STATUS, (*values, after.status, after.status.is_over, HEADLESS))
        if isinstance(fact, facts.ToolUsed):
            _note_activity(db, fact, now)
    if type(fact) in _KEPT:
        _keep(db, fact, now)


def _input_and_background(
    fact: Fact, before: SessionRow, parcel: int | None
) -> tuple[str, int]:
    """Return the origin of the last input, and the number of commands that are left running."""
    origin, background = before.input_origin, before.background
    match fact:
        case facts.TurnStarted(prompt=prompt, resumes=False) if prompt and parcel is None:
            return "terminal", background
        case facts.TurnEnded(commands=number) | facts.TurnPaused(commands=number):
            return origin, number
        case facts.BackgroundEnded():
            return origin, 0
        case _:
            return origin, background


def _note_activity(db: Connection, fact: Fact, now: str) -> None:
    """Store when a session was last active, and the end of its tool if that was it."""
    if isinstance(fact, facts.ToolUsed):
        db.execute(_SET_TOOL_END, (now, fact.session, fact.tool))
    else:
        query = "update sessions set last_activity_at = ? where id = ?"
        db.execute(query, (now, fact.session))


def _is_of_daemon(fact: Fact, before: SessionRow) -> bool:
    """Return whether only Rookery did something: its restart, or a note of a silence.

    If that counted as activity, each restart would lengthen the life of an idle session. Of a
    headless one, whose hooks may be lost without a daemon, it means that its process runs.
    """
    match fact:
        case facts.SessionRecovered():
            return before.runtime != HEADLESS
        case facts.Noted(event=facts.SILENT):
            return True
        case _:
            return False


def note_first_prompt(db: Connection, session: SessionId, prompt: str) -> None:
    """Store the first prompt of a session, unless it is known."""
    db.execute(
        "update sessions set first_prompt = ? where id = ? and first_prompt = ''",
        (prompt[:MAX_FIRST_PROMPT_CHARACTERS], session),
    )


#: The facts that say something about a session besides its state.
_KEPT: frozenset[type[Fact]] = frozenset(
    {
        facts.SessionStarted,
        facts.TranscriptFound,
        facts.SessionFound,
        facts.ModelChosen,
        facts.ConversationLeft,
        facts.SessionRenamed,
        facts.EndRequested,
        facts.SessionEnded,
    }
)


def _keep(db: Connection, fact: Fact, now: str) -> None:  # noqa: C901 - a table
    """Store the details that a fact has about a session besides its state."""
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
            db.execute(
                "update sessions set native_id = null, context_tokens = 0 where id = ?",
                (session,),
            )
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
        case facts.SessionEnded(session, lost=lost):
            db.execute(
                "update sessions set ended_by = iif(ended_by = '', 'itself', ended_by),"
                " lost = :lost, hidden = iif(:lost, 0, hidden) where id = :session",
                {"lost": lost, "session": session},
            )
        case _:
            pass


#: Calling the enumeration takes ten times as long as a lookup here.
_STATUSES = {each.value: each for each in Status}
_ACTIVITIES: dict[str | None, Activity] = {each.value: each for each in Activity}
