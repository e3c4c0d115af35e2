"""Store the listeners and waits of sessions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.model.listeners import Listener, Until
from rookery.model.messages import MessageId
from rookery.store.timestamps import read_stamp

#: A listener is not notified of entries older than itself, even if its reader is late.
_OF_TARGET = "select * from listeners where target = :target and since < :seq"

#: A listener with a message waits for the turn that received it. That turn may still be open:
#: a message that reaches an agent during a turn may become a turn of its own.
_STOPPED = """ and until in ('stop', 'any') and (message is null or exists (
    select 1 from messages join turns on turns.parcel = messages.parcel
    where messages.id = listeners.message and messages.acknowledged_by < :seq
    and turns.ended_at is not null))"""
_ASKED = """ and until <> 'end' and not exists (
    select 1 from told where told.request = :request and told.session = caller)"""
_OBEYED = " and message in (select id from messages where parcel = :parcel)"
_UNHEARD = " and (select step from messages where id = message) in ('unsure', 'failed')"
_LASTING = "select * from listeners where is_lasting and :session in (caller, target)"
_MADE_IN_RELAY = """ and exists (
    select 1 from relay_members as own join relay_members as other on other.relay = own.relay
    join relays on relays.id = own.relay
    where own.session = caller and other.session = target and created_at <= made_at
    and coalesce(own.left_at, made_at) >= made_at
    and coalesce(other.left_at, made_at) >= made_at)"""


@dataclass(frozen=True, slots=True)
class ComposedWait:
    """A wait that combines several listeners into one notification."""

    id: int
    caller: SessionId
    needed: int  #: how many of them must have news
    deadline: datetime | None  #: when the caller is notified which targets are missing


def add(db: Connection, listener: Listener, *, at: datetime) -> bool:
    """Add a listener. False if the caller already listens to the same target."""
    added = db.execute(
        "insert into listeners (target, caller, until, is_lasting, message, made_at,"
        " checked_at, since)"
        " values (?, ?, ?, ?, ?, ?, ?, (select coalesce(max(seq), 0) from entries))"
        " on conflict (target, caller) do nothing",
        (
            *(listener.target, listener.caller, listener.until, listener.is_lasting),
            *(listener.message, at.isoformat(), at.isoformat()),
        ),
    )
    return added.rowcount == 1


def drop(db: Connection, listener: Listener) -> None:
    """Delete a listener that was notified; its wait, if any, counts the news separately."""
    db.execute(
        "delete from listeners where target = ? and caller = ?",
        (listener.target, listener.caller),
    )


def remove(db: Connection, *, caller: SessionId, target: SessionId) -> list[str] | None:
    """Remove a listener on request. None if there is none.

    Returns the news that its wait had heard, if nothing is left in it to wait for.
    """
    gone = db.execute(
        "delete from listeners where target = ? and caller = ? returning wait", (target, caller)
    ).fetchone()
    if gone is None:
        return None
    return [] if gone["wait"] is None else _lower_needed(db, gone["wait"])


def forget_caller(db: Connection, caller: SessionId) -> int:
    """Delete all listeners and waits of a session. Returns the number of listeners."""
    gone = db.execute("delete from listeners where caller = ?", (caller,)).rowcount
    db.execute("delete from waits where caller = ?", (caller,))
    return gone


def forget_all(db: Connection) -> int:
    gone = db.execute("delete from listeners").rowcount
    db.execute("delete from waits")
    return gone


def of_stop(db: Connection, target: SessionId, *, seq: int) -> list[Listener]:
    return _find(db, _OF_TARGET + _STOPPED, target=target, seq=seq)


def of_asking(db: Connection, target: SessionId, *, seq: int, request: str) -> list[Listener]:
    """Return the listeners to notify of a request: those that were not told of it before."""
    return _find(db, _OF_TARGET + _ASKED, target=target, seq=seq, request=request)


def of_doubt(db: Connection, target: SessionId, *, seq: int) -> list[Listener]:
    return _find(db, _OF_TARGET + _UNHEARD, target=target, seq=seq)


def of_command(db: Connection, target: SessionId, *, seq: int, parcel: int) -> list[Listener]:
    return _find(db, _OF_TARGET + _OBEYED, target=target, seq=seq, parcel=parcel)


def of_end(db: Connection, target: SessionId, *, seq: int) -> list[Listener]:
    return _find(db, _OF_TARGET, target=target, seq=seq)


def known(db: Connection) -> list[Listener]:
    """Return all listeners, with the times when they were added."""
    rows = db.execute("select * from listeners order by caller, target")
    return [
        replace(_listener(row), since=datetime.fromisoformat(row["made_at"])) for row in rows
    ]


def targets_of(db: Connection, caller: SessionId) -> list[Listener]:
    return _find(db, "select * from listeners where caller = :caller", caller=caller)


def lasting_by_relay(db: Connection, session: SessionId) -> list[Listener]:
    """Return lasting listeners of or on a session that were added while both were in a relay.

    Listeners that a person added outside a relay are excluded: they never depended on one.
    """
    return _find(db, _LASTING + _MADE_IN_RELAY, session=session)


def renew(db: Connection, listener: Listener, *, seq: int) -> None:
    """Keep a lasting listener after a notification: any later stop counts, for no wait."""
    db.execute(
        "update listeners set since = ?, message = null, wait = null"
        " where target = ? and caller = ?",
        (seq, listener.target, listener.caller),
    )


def stale(db: Connection, *, before: datetime) -> list[SessionId]:
    """Return the targets of listeners that were last checked before a time."""
    rows = db.execute(
        "select distinct target from listeners where checked_at < ?", (before.isoformat(),)
    )
    return [SessionId(row["target"]) for row in rows]


def check(db: Connection, target: SessionId, *, at: datetime) -> None:
    db.execute("update listeners set checked_at = ? where target = ?", (at.isoformat(), target))


def begin_wait(
    db: Connection, caller: SessionId, *, needed: int, deadline: datetime | None
) -> int:
    row = db.execute(
        "insert into waits (caller, needed, deadline) values (?, ?, ?) returning id",
        (caller, needed, deadline.isoformat() if deadline else None),
    ).fetchone()
    return int(row["id"])


def join_wait(db: Connection, wait: int, *, caller: SessionId, target: SessionId) -> list[str]:
    """Assign a listener to a wait, and remove it from the one it had before.

    Returns the news that the earlier wait had heard, if nothing is left in it to wait for.
    """
    before = db.execute(
        "select wait from listeners where caller = ? and target = ?", (caller, target)
    ).fetchone()["wait"]
    db.execute(
        "update listeners set wait = ? where caller = ? and target = ?", (wait, caller, target)
    )
    return [] if before is None else _lower_needed(db, before)


def keep_news(db: Connection, wait: int, target: SessionId, words: str) -> list[str] | None:
    """Store news for a wait. Once there is enough, returns all of it and ends the wait."""
    db.execute(
        "insert into wait_news values (?, ?, ?)"
        " on conflict do update set words = excluded.words",
        (wait, target, words),
    )
    needed = db.execute("select needed from waits where id = ?", (wait,)).fetchone()["needed"]
    news = heard(db, wait)
    if len(news) < needed:
        return None
    end_wait(db, wait)
    return news


def heard(db: Connection, wait: int) -> list[str]:
    rows = db.execute("select words from wait_news where wait = ? order by rowid", (wait,))
    return [row["words"] for row in rows]


def awaited(db: Connection, wait: int) -> list[SessionId]:
    rows = db.execute("select target from listeners where wait = ?", (wait,))
    return [SessionId(row["target"]) for row in rows]


def overdue(db: Connection, *, now: datetime) -> list[ComposedWait]:
    rows = db.execute(
        "select * from waits where deadline is not null and deadline <= ?", (now.isoformat(),)
    )
    return [_wait(row) for row in rows]


def known_waits(db: Connection) -> list[ComposedWait]:
    return [_wait(row) for row in db.execute("select * from waits order by id")]


def end_wait(db: Connection, wait: int) -> None:
    """Delete a wait with its listeners; lasting listeners existed before it, and stay."""
    db.execute("update listeners set wait = null where wait = ? and is_lasting", (wait,))
    db.execute("delete from waits where id = ?", (wait,))


def _lower_needed(db: Connection, wait: int) -> list[str]:
    """Lower the number that a wait needs after it lost a listener, so that it can end.

    If it lost the last one, it ends; returns the news that it had heard.
    """
    news = heard(db, wait)
    (remaining,) = db.execute(
        "select count(*) from listeners where wait = ?", (wait,)
    ).fetchone()
    if not remaining:
        end_wait(db, wait)
        return news
    reachable = remaining + len(news)
    db.execute("update waits set needed = min(needed, ?) where id = ?", (reachable, wait))
    return []


def _wait(row: Row) -> ComposedWait:
    deadline = read_stamp(row["deadline"])
    return ComposedWait(row["id"], SessionId(row["caller"]), row["needed"], deadline)


def _find(db: Connection, query: str, **values: object) -> list[Listener]:
    return [_listener(row) for row in db.execute(query, values)]


def _listener(row: Row) -> Listener:
    return Listener(
        caller=SessionId(row["caller"]),
        target=SessionId(row["target"]),
        until=Until(row["until"]),
        is_lasting=bool(row["is_lasting"]),
        message=MessageId(row["message"]) if row["message"] is not None else None,
        wait=row["wait"],
    )
