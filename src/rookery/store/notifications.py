"""Store notifications, the kinds that each channel carries, and muted sessions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.model.notifications import (
    NotificationId,
    NotificationItem,
    NotificationKind,
    NotificationState,
    SessionCounts,
    SessionOutcome,
)
from rookery.model.sessions import TMUX
from rookery.store.sessions import IS_RESUMED, LIVE
from rookery.store.timestamps import read_stamp, stamp

#: The reason of notifications that waited for a channel which is no longer configured.
CHANNEL_IS_OFF = "the channel is turned off"

#: The reason of notifications that a daemon was sending when it died.
DAEMON_DIED = "the daemon stopped while it was sent; it is not sent again"

ITEMS = """
    select notifications.*, sessions.name, sessions.agent, sessions.project_path
    from notifications join sessions on sessions.id = notifications.session
"""


def put_channels(
    db: Connection, kinds: Mapping[str, Collection[NotificationKind]], *, at: datetime
) -> None:
    """Store which kinds each channel carries; skip what waits for other channels."""
    db.execute("delete from notification_channels")
    db.executemany(
        "insert into notification_channels values (?, ?)",
        [(channel, kind) for channel, each in kinds.items() for kind in each],
    )
    db.execute(
        "update notifications set state = 'skipped', reason = ?, settled_at = ?"
        " where state = 'waiting' and channel not in (select value from json_each(?))",
        (CHANNEL_IS_OFF, stamp(at), json.dumps(list(kinds))),
    )


def add(db: Connection, outcome: SessionOutcome) -> None:
    """Add a notification for each channel that carries this kind, unless it exists."""
    db.execute(
        "insert into notifications (session, kind, subject, channel, text, at, due_at)"
        " select ?1, ?2, ?3, channel, ?4, ?5, ?5 from notification_channels where kind = ?2"
        " on conflict do nothing",
        (outcome.session, outcome.kind, outcome.subject, outcome.text, stamp(outcome.at)),
    )


def drop_waiting(db: Connection, session: SessionId, kind: NotificationKind) -> None:
    """Delete the notifications of one kind that are not due yet."""
    db.execute(
        "delete from notifications where state = 'waiting' and session = ? and kind = ?",
        (session, kind),
    )


def has_channels(db: Connection) -> bool:
    """Return whether any channel carries notifications."""
    return db.execute("select 1 from notification_channels limit 1").fetchone() is not None


def begin(db: Connection, ids: Iterable[NotificationId], *, at: datetime) -> None:
    """Record that a channel is about to get these notifications."""
    db.execute(
        "update notifications set state = 'sending', settled_at = ?"
        " where state = 'waiting' and id in (select value from json_each(?))",
        (stamp(at), json.dumps(list(ids))),
    )


def settle(
    db: Connection,
    ids: Iterable[NotificationId],
    state: NotificationState,
    *,
    reason: str = "",
    at: datetime,
) -> None:
    """Record what became of notifications."""
    db.execute(
        "update notifications set state = ?, reason = ?, settled_at = ?"
        " where id in (select value from json_each(?))",
        (state, reason, stamp(at), json.dumps(list(ids))),
    )


def retry(
    db: Connection, ids: Iterable[NotificationId], *, reason: str, due_at: datetime
) -> None:
    """Let notifications wait for another attempt after the channel reported an error."""
    db.execute(
        "update notifications set state = 'waiting', attempts = attempts + 1, reason = ?,"
        " due_at = ?, settled_at = null where id in (select value from json_each(?))",
        (reason, stamp(due_at), json.dumps(list(ids))),
    )


def abandon_sending(db: Connection, channel: str, *, at: datetime) -> list[NotificationId]:
    """Record that it is unknown whether a channel got what an earlier daemon was sending."""
    rows = db.execute(
        "update notifications set state = 'unsure', reason = ?, settled_at = ?"
        " where state = 'sending' and channel = ? returning id",
        (DAEMON_DIED, stamp(at), channel),
    )
    return [NotificationId(row["id"]) for row in rows.fetchall()]


def add_reminders(
    db: Connection, ids: Iterable[NotificationId], *, at: datetime, due_at: datetime
) -> None:
    """Add one later reminder for each of these that a person must answer."""
    db.execute(
        "insert into notifications"
        " (session, kind, subject, channel, is_reminder, text, at, due_at)"
        " select session, kind, subject, channel, 1, text, ?, ? from notifications"
        " where id in (select value from json_each(?)) and kind = 'needs-you'"
        " and not is_reminder on conflict do nothing",
        (stamp(at), stamp(due_at), json.dumps(list(ids))),
    )


def latest(db: Connection, *, limit: int) -> list[NotificationItem]:
    """Return the last notifications, newest first."""
    rows = db.execute(f"{ITEMS} order by notifications.id desc limit ?", (limit,))
    return [read_item(row) for row in rows]


def mute(db: Connection, session: SessionId, *, until: datetime | None) -> None:
    """Send nothing about a session until a time; without a time, until it is unmuted."""
    db.execute(
        "insert into mutes values (?, ?) on conflict do update set until = excluded.until",
        (session, stamp(until) if until else None),
    )


def unmute(db: Connection, session: SessionId) -> bool:
    """Send notifications about a session again. False if it was not muted."""
    return db.execute("delete from mutes where session = ?", (session,)).rowcount > 0


def mutes(db: Connection, *, now: datetime) -> dict[SessionId, datetime | None]:
    """Return the muted sessions, each with the time until which it is muted."""
    rows = db.execute("select * from mutes where until is null or until > ?", (stamp(now),))
    return {SessionId(row["session"]): read_stamp(row["until"]) for row in rows}


def count_sessions(
    db: Connection, *, now: datetime, ended_after: datetime, among: Collection[str] | None
) -> SessionCounts:
    """Count the sessions by what a person has to do about them, without those left out."""
    found = {"waiting": 0, "failed": 0, "working": 0, "idle": 0}
    for each in counted(db, now=now, ended_after=ended_after):
        if each.is_counted and (among is None or each.id in among):
            found[each.counts_as] += 1
    return SessionCounts(**found)


@dataclass(frozen=True, slots=True)
class CountedSession:
    """A session, and what a person has to do about it."""

    id: SessionId
    name: str
    agent: str
    program: str  #: the name of its program in Rookery's tmux; empty if it is elsewhere
    state: str
    counts_as: str  #: a field of ``SessionCounts``
    is_counted: bool  #: neither muted, nor hidden without needing a person


def counted(db: Connection, *, now: datetime, ended_after: datetime) -> list[CountedSession]:
    """Return the live sessions and those that failed lately, the longest in a state first.

    A failure that a person has seen, or that was resumed, does not count.
    """
    muted = mutes(db, now=now)
    columns = "id, name, agent, runtime, tmux_session, activity, reason, status, since, hidden"
    rows = db.execute(
        f"select {columns} from sessions indexed by sessions_live where {LIVE}"
        f" union all select {columns} from sessions where ended_at > ? and status = 'failed'"
        f" and coalesce(seen_at, '') < ended_at and not {IS_RESUMED} order by since, id",
        (stamp(ended_after),),
    )
    return [
        CountedSession(
            id=SessionId(row["id"]),
            name=row["name"],
            agent=row["agent"],
            program=_program_of(row),
            state=row["activity"] or row["status"],
            counts_as=_count_of(row),
            is_counted=row["id"] not in muted and _is_listed(row),
        )
        for row in rows
    ]


def _is_listed(row: Row) -> bool:
    """Return whether lists show a session: it is not hidden, or needs a person."""
    return not row["hidden"] or _count_of(row) == "waiting"


def _program_of(row: Row) -> str:
    is_shown = row["runtime"] == TMUX and row["status"] != "failed"
    return row["tmux_session"] or "" if is_shown else ""


def _count_of(row: Row) -> str:
    if row["activity"] in {"permission", "question"}:
        return "waiting"
    if row["status"] == "failed" or (row["activity"] == "idle" and row["reason"] == "failed"):
        return "failed"
    return "idle" if row["activity"] == "idle" else "working"


def read_item(row: Row) -> NotificationItem:
    return NotificationItem(
        id=NotificationId(row["id"]),
        session=SessionId(row["session"]),
        name=row["name"],
        agent=row["agent"],
        folder=row["project_path"],
        kind=NotificationKind(row["kind"]),
        subject=row["subject"],
        channel=row["channel"],
        text=row["text"],
        at=datetime.fromisoformat(row["at"]),
        is_reminder=bool(row["is_reminder"]),
        attempts=row["attempts"],
        state=NotificationState(row["state"]),
        reason=row["reason"],
        settled_at=read_stamp(row["settled_at"]),
    )
