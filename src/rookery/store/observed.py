"""What is kept of sessions that we did not start: where they sit, and what they tell."""

from __future__ import annotations

import os
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import OBSERVED, NativeId, Sender, Session, Spot
from rookery.ports.agent import Abilities
from rookery.store import evidence
from rookery.store.sessions import LIVE, read_session


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


def bind_by_folder(db: Connection, sender: Sender) -> SessionId | None:
    """Give the sender's native id to the one session in a pane that it can only be.

    For agents whose hooks do not tell from which process they come: it works in the same
    folder, and its own native id is not known yet. Of two, nobody can tell which it is.
    """
    if not os.path.isabs(sender.cwd):  # noqa: PTH117 - a text of others
        return None
    rows = db.execute(
        f"select id from sessions where {LIVE} and agent = ? and runtime = ?"
        " and tmux_server is not null and substr(native_id, 1, 5) = 'tmux_'"
        " and project_path = ? limit 2",
        (sender.agent, OBSERVED, os.path.realpath(sender.cwd)),
    ).fetchall()
    if len(rows) != 1:
        return None
    session = SessionId(rows[0]["id"])
    db.execute("update sessions set native_id = ? where id = ?", (sender.native_id, session))
    return session


def is_taken(db: Connection, agent: str, native_id: NativeId) -> bool:
    """Whether a live session of that agent has the native id."""
    query = f"select 1 from sessions where agent = ? and native_id = ? and {LIVE}"
    return db.execute(query, (agent, native_id)).fetchone() is not None


def has_ended(db: Connection, process: str) -> bool:
    """Whether a session of this process is over: what is left of it is no other session."""
    query = "select 1 from sessions where process = ? and ended_at is not null"
    return db.execute(query, (process,)).fetchone() is not None


def tells_turns(db: Connection, session: Session, abilities: Abilities) -> bool:
    """Whether hooks tell of its prompts and stops: those it was given, or that told before."""
    is_given = session.runtime != OBSERVED and not abilities.needs_installed_hooks
    return is_given or evidence.last(db, session.id, "hook") is not None


def has_better_word(db: Connection, session: Session) -> bool:
    """Whether an agent's own file tells what a session that we found does, not its screen.

    It says nothing of a turn that was over at once.
    """
    told = evidence.last(db, session.id, "registry")
    if session.runtime != OBSERVED or told is None:
        return False
    return told.claim == session.activity or told.at >= session.since


def may_stop_untold(db: Connection, session: Session) -> bool:
    """Whether a turn runs in a pane of the user's own whose end only its screen may show.

    Of an interruption, and of a call that was refused, the hooks of some agents say nothing.
    """
    is_busy = session.activity not in {None, Activity.IDLE}
    is_theirs = session.runtime == OBSERVED and session.tmux_server is not None
    return is_theirs and is_busy and not has_better_word(db, session)


def stopping_untold(db: Connection) -> list[SessionId]:
    """Return the live sessions of which ``may_stop_untold`` is true."""
    rows = db.execute(
        f"select * from sessions where {LIVE} and runtime = ? and tmux_server is not null"
        " and activity is not null and activity <> ?",
        (OBSERVED, Activity.IDLE),
    )
    found = [read_session(row) for row in rows]
    return [each.id for each in found if may_stop_untold(db, each)]


def has_rested(db: Connection, session: SessionId, *, since: datetime) -> bool:
    """Whether its agent's own file has said since then that it does nothing."""
    told = evidence.last(db, session, "registry")
    return told is not None and told.claim == Activity.IDLE and told.at > since
