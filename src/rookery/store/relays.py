"""Store relays, their members, and what was relayed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.confusables import looks_like
from rookery.model.errors import RelayUnknown
from rookery.model.facts import SessionId
from rookery.model.relays import Member, Relay, RelayId, RelayLimits
from rookery.store.timestamps import read_stamp


@dataclass(frozen=True, slots=True)
class RelayedWords:
    """Something that was relayed."""

    at: datetime
    session: SessionId  #: the author
    words: str
    heard_by: int  #: the number of recipients
    waiting: int  #: the number of recipients that have not received it yet
    missing: list[SessionId]  #: the recipients that have not received it yet


def add(db: Connection, relay: Relay, *, pair: str | None = None) -> None:
    db.execute(
        "insert into relays (id, created_at, created_by, pair, max_hops, max_a_minute,"
        " max_length) values (?, ?, ?, ?, ?, ?, ?)",
        (
            *(relay.id, relay.created_at.isoformat(), relay.created_by, pair),
            *(relay.limits.hops, relay.limits.a_minute, relay.limits.length),
        ),
    )


def join(db: Connection, relay: RelayId, member: Member) -> None:
    """Add a member, or re-add one that had left."""
    db.execute(
        "insert into relay_members (relay, session, name, number, since)"
        " values (?, ?, ?, ?, (select coalesce(max(seq), 0) from entries))"
        " on conflict (relay, session) do update set name = excluded.name,"
        " since = excluded.since, left_at = null, said = ''",
        (relay, member.session, member.name, member.number),
    )


def leave(db: Connection, relay: RelayId, session: SessionId, *, at: datetime) -> bool:
    gone = db.execute(
        "update relay_members set left_at = ?"
        " where relay = ? and session = ? and left_at is null",
        (at.isoformat(), relay, session),
    )
    # The relay is no longer a pair: if the two talk again, they get a new relay.
    db.execute("update relays set pair = null where id = ?", (relay,))
    return gone.rowcount == 1


def close(db: Connection, relay: RelayId, *, at: datetime, reason: str) -> None:
    db.execute(
        "update relays set closed_at = ?, reason = ? where id = ? and closed_at is null",
        (at.isoformat(), reason, relay),
    )
    db.execute(
        "update relay_members set left_at = ? where relay = ? and left_at is null",
        (at.isoformat(), relay),
    )


def get(db: Connection, relay: str) -> Relay:
    """Return the relay with this id or unique id prefix. Raises ``RelayUnknown``."""
    rows = db.execute(
        "select * from relays where id >= ? and id < ? || 'z' limit 2", (relay, relay)
    ).fetchall()
    if len(rows) != 1:
        raise RelayUnknown(f"{relay[:40]!r}. See them with:  rookery relay ls")
    return _relay(db, rows[0])


def of_pair(db: Connection, pair: str) -> Relay | None:
    row = db.execute(
        "select * from relays where pair = ? and closed_at is null", (pair,)
    ).fetchone()
    return _relay(db, row) if row else None


def of_session(db: Connection, session: SessionId) -> list[Relay]:
    """Return the relays that a session is in now."""
    rows = db.execute(
        "select relays.* from relay_members join relays on relays.id = relay"
        " where session = ? and left_at is null order by created_at, id",
        (session,),
    )
    return [_relay(db, row) for row in rows]


def count_of(db: Connection, session: SessionId) -> int:
    """Count the relays that a session is in now."""
    (count,) = db.execute(
        "select count(*) from relay_members where session = ? and left_at is null", (session,)
    ).fetchone()
    return int(count)


def peers(db: Connection, session: SessionId) -> set[SessionId]:
    """Return the current members of the relays that a session is in."""
    rows = db.execute(
        "select others.session from relay_members as own join relay_members as others"
        " on others.relay = own.relay and others.left_at is null"
        " where own.session = ? and own.left_at is null",
        (session,),
    )
    return {SessionId(row["session"]) for row in rows}


def rename(db: Connection, session: SessionId, *, before: str, name: str) -> None:
    """Rename a session in the relays where it has no alias."""
    db.execute(
        "update relay_members set name = ? where session = ? and name = ? and left_at is null",
        (name, session, before),
    )


def give_up_aliases(db: Connection, session: SessionId, name: str) -> None:
    """Reset the aliases of other sessions that look like a session's new name."""
    rows = db.execute(
        "select relay, session, relay_members.name as alias, sessions.name as own"
        " from relay_members join sessions on sessions.id = session"
        " where left_at is null and session <> ? and alias <> own",
        (session,),
    ).fetchall()
    for row in rows:
        if looks_like(row["alias"], name):
            db.execute(
                "update relay_members set name = ? where relay = ? and session = ?",
                (row["own"], row["relay"], row["session"]),
            )


def listed(db: Connection, *, closed_after: datetime) -> list[Relay]:
    rows = db.execute(
        "select * from relays where closed_at is null or closed_at > ? order by created_at, id",
        (closed_after.isoformat(),),
    )
    return [_relay(db, row) for row in rows]


def note_words(db: Connection, relay: RelayId, session: SessionId, digest: str) -> bool:
    """Store the digest of a member's last answer. False if it repeats the one before."""
    changed = db.execute(
        "update relay_members set said = ? where relay = ? and session = ? and said <> ?",
        (digest, relay, session, digest),
    )
    return changed.rowcount == 1


def note_limit(db: Connection, relay: RelayId, limit: str) -> None:
    """Store which limit kept an answer from being relayed."""
    db.execute("update relays set stayed = ? where id = ?", (limit, relay))


def count_said(db: Connection, relay: RelayId, *, since: datetime) -> int:
    """Count the answers relayed since a time; each once, regardless of its recipients."""
    (count,) = db.execute(
        "select count(distinct cause) from messages where relay = ? and written_at >= ?",
        (relay, since.isoformat()),
    ).fetchone()
    return int(count)


def exchange(db: Connection, relay: RelayId, *, last: int) -> list[RelayedWords]:
    """Return the last relayed answers, oldest first."""
    rows = db.execute(
        "select written_at, entries.session, words, count(*) as heard_by,"
        " sum(step <> 'acknowledged') as waiting,"
        " group_concat(iif(step <> 'acknowledged', recipient, null), ' ') as missing"
        " from messages"
        " join entries on entries.seq = cause where relay = ?"
        " group by cause order by cause desc limit ?",
        (relay, last),
    ).fetchall()
    return [
        RelayedWords(
            at=datetime.fromisoformat(row["written_at"]),
            session=SessionId(row["session"]),
            words=row["words"],
            heard_by=row["heard_by"],
            waiting=row["waiting"],
            missing=[SessionId(each) for each in (row["missing"] or "").split()],
        )
        for row in reversed(rows)
    ]


def pair_of(sessions: Iterable[SessionId]) -> str:
    return " ".join(sorted(sessions))


def _relay(db: Connection, row: Row) -> Relay:
    members = db.execute(
        "select * from relay_members where relay = ? order by number", (row["id"],)
    )
    return Relay(
        id=RelayId(row["id"]),
        members=tuple(_member(each) for each in members),
        limits=RelayLimits(row["max_hops"], row["max_a_minute"], row["max_length"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        created_by=row["created_by"],
        closed_at=read_stamp(row["closed_at"]),
        reason=row["reason"],
        stayed=row["stayed"],
    )


def _member(row: Row) -> Member:
    return Member(
        session=SessionId(row["session"]),
        name=row["name"],
        number=row["number"],
        since=row["since"],
        left_at=read_stamp(row["left_at"]),
    )
