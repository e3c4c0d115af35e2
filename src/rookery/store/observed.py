"""What is kept of sessions that we did not start: where they sit, and what they tell."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import OBSERVED, NativeId, Session, Spot
from rookery.store import evidence
from rookery.store.sessions import LIVE


def seat(db: Connection, session: SessionId, spot: Spot, tmux_session: str) -> None:
    """Note the pane that a session is in, whatever was known of it before."""
    db.execute(
        "update sessions set runtime = ?, tmux_server = ?, tmux_session = ?, tmux_pane = ?"
        " where id = ?",
        (OBSERVED, spot.server, tmux_session, spot.pane, session),
    )


def identify(db: Connection, session: SessionId, process: str) -> None:
    """Note which process a session is, if that is not known yet."""
    db.execute(
        "update or ignore sessions set process = coalesce(process, ?) where id = ?",
        (process, session),
    )


def is_taken(db: Connection, agent: str, native_id: NativeId) -> bool:
    """Whether a live session of that agent has the native id."""
    query = f"select 1 from sessions where agent = ? and native_id = ? and {LIVE}"
    return db.execute(query, (agent, native_id)).fetchone() is not None


def has_ended(db: Connection, process: str) -> bool:
    """Whether a session of this process is over: what is left of it is no other session."""
    query = "select 1 from sessions where process = ? and ended_at is not null"
    return db.execute(query, (process,)).fetchone() is not None


def tells_turns(db: Connection, session: Session) -> bool:
    """Whether hooks tell of its prompts and stops. Of what we started they do, if any can."""
    return session.runtime != OBSERVED or evidence.last(db, session.id, "hook") is not None


def is_read_off_its_screen(db: Connection, session: Session) -> bool:
    """Whether nothing but its screen tells what a session that we found does."""
    told = (evidence.last(db, session.id, source) for source in ("hook", "registry"))
    return session.runtime == OBSERVED and not any(told)
