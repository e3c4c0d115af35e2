"""Delete old rows, in small slices so that other jobs do not wait long."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.store import blocks, session_days
from rookery.store.statistics import EACH

#: Rows deleted in one job, which delays all other writes by less than 5 ms.
MAX_DELETED_ROWS = 500

#: Each deletes a slice of the rows of one table that are older than ``:before``.
_AGED = tuple(
    f"delete from {table} where {key} in"
    f" (select {key} from {table} where at < :before order by at limit :slice)"
    for table, key in (
        *(("hooks", "key"), ("commands", "key"), ("audit", "id")),
        ("notifications", "id"),
    )
)

#: Keeps entries that a reader has yet to read, however long that reader has been away.
_OLDEST_ENTRIES = """
    delete from entries where seq < (select min(seq) + :slice from entries)
        and at < :before and seq <= (select coalesce(min(seq), 9e18) from bookmarks)
"""


_IS_DEARER = """
    (coalesce(excluded.dearest_cost, 0), excluded.dearest_tokens)
        > (coalesce(dearest_cost, 0), dearest_tokens)
"""

_TALLY = f"""
    insert into tallies (day, agent, status, sessions, seconds, dearest, dearest_cost,
        dearest_tokens, dearest_estimated) {EACH} where sessions.id = ?
    on conflict do update set
        sessions = sessions + 1,
        seconds = seconds + excluded.seconds,
        dearest = iif({_IS_DEARER}, excluded.dearest, dearest),
        dearest_cost = iif({_IS_DEARER}, excluded.dearest_cost, dearest_cost),
        dearest_tokens = iif({_IS_DEARER}, excluded.dearest_tokens, dearest_tokens),
        dearest_estimated = iif({_IS_DEARER}, excluded.dearest_estimated, dearest_estimated)
"""


_OF_SESSIONS = (
    *("tokens", "grants", "requests", "evidence", "transcripts", "told"),
    *("relay_members", "foregrounds", "notifications", "mutes"),
    *("workspaces", "edits", "overlaps", "driven_streams"),
)


def forget_aged(db: Connection, *, before: datetime) -> int:
    """Delete a slice of the rows older than ``before``. Returns how many; 0 when done."""
    values = {"before": before.isoformat(), "slice": MAX_DELETED_ROWS}
    gone = sum(db.execute(delete, values).rowcount for delete in _AGED)
    gone += blocks.forget_aged(db, before=before, limit=MAX_DELETED_ROWS)
    first = "select at from entries where seq = (select min(seq) from entries)"
    oldest = db.execute(first).fetchone()
    if oldest and oldest["at"] < values["before"]:
        gone += db.execute(_OLDEST_ENTRIES, values).rowcount
        db.execute("delete from parked where seq < (select min(seq) from entries)")
    return gone


def forget_sessions(db: Connection, *, keep: int) -> int:
    """Delete a slice of the sessions that ended longest ago, beyond the last ``keep``.

    ``forget_artifacts`` deletes their saved screens. A session stays while the database has
    a session that it started or that continues it, because permission rules are looked up
    along that chain. It also stays while its worktree does.
    """
    rows = db.execute(
        "select id from sessions where ended_at is not null and not is_held"
        " and not exists (select 1 from sessions other where other.parent = sessions.id)"
        " and not exists (select 1 from sessions other where other.continues = sessions.id)"
        " and not exists (select 1 from workspaces where session = sessions.id"
        " and state <> 'removed')"
        " order by ended_at desc limit ? offset ?",
        (MAX_DELETED_ROWS // 10, keep),
    ).fetchall()
    room = MAX_DELETED_ROWS
    for (session,) in rows:
        room -= blocks.forget(db, session, limit=room)
        if room <= 0:  # the next job deletes the rest
            break
        _tally(db, session)
        for table in _OF_SESSIONS:
            db.execute(f"delete from {table} where session = ?", (session,))
        db.execute("delete from listeners where ? in (target, caller)", (session,))
        db.execute("delete from waits where caller = ?", (session,))
        db.execute("delete from overlaps where other = ?", (session,))
        db.execute("delete from turns where session = ?", (session,))
        db.execute("delete from messages where recipient = ?", (session,))
        db.execute("delete from sessions where id = ?", (session,))
    if rows:
        db.execute("delete from relays where id not in (select relay from relay_members)")
    return len(rows)


def _tally(db: Connection, session: str) -> None:
    """Add a session that is being deleted to the totals that statistics read."""
    db.execute(_TALLY, (session,))
    session_days.fold(db, SessionId(session))


def forget_artifacts(db: Connection, *, folder: Path) -> int:
    """Delete the saved screens of sessions that were deleted. Returns how many."""
    existing = {row["id"] for row in db.execute("select id from sessions")}
    orphaned = [file for file in folder.glob("*.txt") if file.stem not in existing]
    for file in orphaned:
        file.unlink(missing_ok=True)
    return len(orphaned)
