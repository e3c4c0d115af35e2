"""Store which sessions are in the foreground of a channel, and what was shown there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import Turn
from rookery.store.turns import read_turn

_MARK = """
    insert into foregrounds (session, channel, seen) values (:session, :channel, coalesce((
        select started_by from turns where session = :session and started_by <= :seen
            and ended_at is not null order by started_by desc limit 1), 0))
    on conflict (session, channel) do update set seen = max(seen, excluded.seen)
"""

_MARK_BLOCKS = """
    insert into foregrounds (session, channel, seen_block) values (:session, :channel,
        min(:seen, (select coalesce(max(number), 0) from blocks where session = :session)))
    on conflict (session, channel) do update
        set seen_block = max(seen_block, excluded.seen_block)
"""


@dataclass(frozen=True, slots=True)
class InFront:
    """A session that is in the foreground of a channel."""

    session: SessionId
    channel: str
    seen: int  #: the last turn that was shown there; 0 if none
    since: datetime


@dataclass(frozen=True, slots=True)
class Missed:
    """The turns that ended after the last one that was shown."""

    turns: list[Turn]  #: the last of them, oldest first
    omitted: int  #: how many earlier ones are left out


def enter(db: Connection, session: SessionId, channel: str, *, by: str, at: datetime) -> bool:
    """Put a session into the foreground. False if it was there already."""
    entered = db.execute(
        "insert into foregrounds (session, channel, since, by) values (?, ?, ?, ?)"
        " on conflict (session, channel) do update set since = excluded.since,"
        " by = excluded.by where since is null",
        (session, channel, at.isoformat(), by),
    )
    return entered.rowcount == 1


def claim(db: Connection, session: SessionId, channel: str, *, by: str) -> None:
    """Record another actor as the one that wants the session in the foreground."""
    db.execute(
        "update foregrounds set by = ? where session = ? and channel = ?",
        (by, session, channel),
    )


def bringer(db: Connection, session: SessionId, channel: str) -> str | None:
    """Return who put a session into the foreground; None if it is not there."""
    row = db.execute(
        "select by from foregrounds where session = ? and channel = ? and since is not null",
        (session, channel),
    ).fetchone()
    return str(row["by"]) if row else None


def leave(db: Connection, session: SessionId, channel: str) -> bool:
    """Put a session into the background. False if it was there already."""
    left = db.execute(
        "update foregrounds set since = null"
        " where session = ? and channel = ? and since is not null",
        (session, channel),
    )
    return left.rowcount == 1


def mark(db: Connection, session: SessionId, channel: str, *, seen: int) -> None:
    """Record that the ended turns up to this one were shown; never moves backwards."""
    db.execute(_MARK, {"session": session, "channel": channel, "seen": seen})


def seen(db: Connection, session: SessionId, channel: str) -> int:
    """Return the number of the last turn that was shown; 0 if none."""
    row = db.execute(
        "select seen from foregrounds where session = ? and channel = ?", (session, channel)
    ).fetchone()
    return int(row["seen"]) if row else 0


def mark_blocks(db: Connection, session: SessionId, channel: str, *, seen: int) -> None:
    """Record that the blocks up to this number were shown; never moves backwards."""
    db.execute(_MARK_BLOCKS, {"session": session, "channel": channel, "seen": seen})


def seen_block(db: Connection, session: SessionId, channel: str) -> int:
    """Return the number of the last block that was shown; 0 if none."""
    row = db.execute(
        "select seen_block from foregrounds where session = ? and channel = ?",
        (session, channel),
    ).fetchone()
    return int(row["seen_block"]) if row else 0


def missed(db: Connection, session: SessionId, *, after: int, last: int) -> Missed:
    ended = "from turns where session = ? and started_by > ? and ended_at is not null"
    (count,) = db.execute(f"select count(*) {ended}", (session, after)).fetchone()
    rows = db.execute(
        f"select * {ended} order by started_by desc limit ?", (session, after, last)
    ).fetchall()
    return Missed([read_turn(row) for row in reversed(rows)], count - len(rows))


def following(db: Connection, session: SessionId, *, after: int) -> Turn | None:
    """Return the first ended turn after the one with this number, if there is one."""
    row = db.execute(
        "select * from turns where session = ? and started_by > ? and ended_at is not null"
        " order by started_by limit 1",
        (session, after),
    ).fetchone()
    return read_turn(row) if row else None


def running(db: Connection, session: SessionId) -> list[Turn]:
    """Return the open turns: several, if the agent got another prompt during a turn."""
    rows = db.execute(
        "select * from turns indexed by turns_open where session = ? and ended_at is null"
        " order by started_by",
        (session,),
    )
    return [read_turn(row) for row in rows]


def in_front(db: Connection, channel: str) -> list[InFront]:
    """Return the sessions in the foreground of a channel, in the order of their arrival."""
    rows = db.execute(
        "select * from foregrounds indexed by foregrounds_in_front"
        " where channel = ? and since is not null order by since, session",
        (channel,),
    )
    return [
        InFront(
            SessionId(row["session"]),
            row["channel"],
            row["seen"],
            datetime.fromisoformat(row["since"]),
        )
        for row in rows
    ]
