"""Store the panes, processes and reports of sessions that Rookery did not start."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import OBSERVED, NativeId, Sender, Session
from rookery.ports.terminal import TerminalAddress
from rookery.store.sessions import LIVE, read_session, set_address


def assign_pane(db: Connection, session: SessionId, address: TerminalAddress) -> None:
    """Record the pane that a session is in, replacing what was known before."""
    db.execute("update sessions set runtime = ? where id = ?", (OBSERVED, session))
    set_address(db, session, address)


def identify(db: Connection, session: SessionId, process: str) -> None:
    """Record the process of a session, if it is not known yet."""
    db.execute(
        "update or ignore sessions set process = coalesce(process, ?) where id = ?",
        (process, session),
    )


def bind_by_folder(db: Connection, sender: Sender, folder: str) -> SessionId | None:
    """Give the sender's native id to the only session in a pane that matches it.

    For agents whose hooks do not reveal their process: the session works in this folder,
    and its native id is not known yet. If two match, the right one cannot be determined.
    """
    if not folder:
        return None
    rows = db.execute(
        f"select id from sessions where {LIVE} and agent = ? and runtime = ?"
        " and tmux_server is not null and substr(native_id, 1, 5) = 'tmux_'"
        " and project_path = ? limit 2",
        (sender.agent, OBSERVED, folder),
    ).fetchall()
    if len(rows) != 1:
        return None
    session = SessionId(rows[0]["id"])
    db.execute("update sessions set native_id = ? where id = ?", (sender.native_id, session))
    return session


def is_taken(db: Connection, agent: str, native_id: NativeId) -> bool:
    """Return whether a live session of that agent has the native id."""
    query = f"select 1 from sessions where agent = ? and native_id = ? and {LIVE}"
    return db.execute(query, (agent, native_id)).fetchone() is not None


def has_ended(db: Connection, process: str) -> bool:
    """Return whether a session of this process is over: the process is then no new session."""
    query = "select 1 from sessions where process = ? and ended_at is not null"
    return db.execute(query, (process,)).fetchone() is not None


def busy_in_user_panes(db: Connection) -> list[Session]:
    """Return the live sessions in the user's own panes that are not idle."""
    rows = db.execute(
        f"select * from sessions where {LIVE} and runtime = ? and tmux_server is not null"
        " and activity is not null and activity <> ?",
        (OBSERVED, Activity.IDLE),
    )
    return [read_session(row) for row in rows]
