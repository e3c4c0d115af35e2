"""Store turns: prompts and answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from sqlite3 import Connection, Row

from rookery.model.actors import Actor
from rookery.model.facts import SessionId
from rookery.model.messages import MessageId
from rookery.model.sessions import Turn
from rookery.store.timestamps import read_stamp

#: How many entries before the end of a turn are searched for what interrupted it.
MAX_SEARCHED_ENTRIES = 1_000

#: Characters of a prompt or answer that are kept; the agent's transcript has the rest.
MAX_TEXT_CHARACTERS = 64_000


def times_held(db: Connection, session: SessionId) -> int:
    """Return how often the running turn was kept from stopping."""
    (times,) = db.execute(
        "select coalesce(max(held), 0) from turns indexed by turns_open"
        " where session = ? and ended_at is null",
        (session,),
    ).fetchone()
    return int(times)


def hold(db: Connection, session: SessionId) -> None:
    """Record that the running turn was kept from stopping."""
    db.execute(
        "update turns indexed by turns_open set held = held + 1"
        " where session = ? and ended_at is null",
        (session,),
    )


def of_session(db: Connection, session: SessionId, *, last: int) -> list[Turn]:
    """Return the last turns, oldest first."""
    rows = db.execute(
        "select * from turns where session = ? order by started_by desc limit ?",
        (session, last),
    ).fetchall()
    return [read_turn(row) for row in reversed(rows)]


def between(
    db: Connection,
    session: SessionId,
    since: datetime | None,
    until: datetime | None,
    *,
    last: int,
) -> list[Turn]:
    """Return the last turns that ran between two times, in UTC; oldest first."""
    rows = db.execute(
        "select * from turns where session = ?1 and (?2 is null or ended_at is null"
        " or ended_at >= ?2) and (?3 is null or started_at <= ?3)"
        " order by started_by desc limit ?4",
        (session, *(each.isoformat() if each else None for each in (since, until)), last),
    ).fetchall()
    return [read_turn(row) for row in reversed(rows)]


def last_end(db: Connection, session: SessionId) -> datetime | None:
    """Return when the latest ended turn ended."""
    row = db.execute(
        "select ended_at from turns where session = ? and ended_at is not null"
        " order by started_by desc limit 1",
        (session,),
    ).fetchone()
    return datetime.fromisoformat(row["ended_at"]) if row else None


def last_ended(db: Connection, session: SessionId) -> int | None:
    """Return the number of the latest ended turn: the entry that started it."""
    row = db.execute(
        "select started_by from turns where session = ? and ended_at is not null"
        " order by started_by desc limit 1",
        (session,),
    ).fetchone()
    return int(row["started_by"]) if row else None


def first_open(db: Connection, session: SessionId) -> Turn | None:
    """Return the earliest turn that has not ended."""
    row = db.execute(
        "select * from turns indexed by turns_open"
        " where session = ? and ended_at is null order by started_by limit 1",
        (session,),
    ).fetchone()
    return read_turn(row) if row else None


def interrupted_by(db: Connection, session: SessionId, *, before: int) -> Actor | None:
    """Return who last pressed keys through Rookery in the turn that the entry ``before`` ended.

    ``None`` if Rookery pressed none, as when the user interrupts in the agent's terminal. Only
    ``MAX_SEARCHED_ENTRIES`` are searched, because entries have no index by session.
    """
    began = last_ended(db, session) or 0
    row = db.execute(
        "select json_extract(body, '$.by') as by from entries where seq > ? and seq < ?"
        " and session = ? and kind = 'keys-pressed'"
        " and coalesce(json_extract(body, '$.request'), '') = ''"
        " order by seq desc limit 1",
        (max(began, before - MAX_SEARCHED_ENTRIES), before, session),
    ).fetchone()
    return Actor.read(row["by"]) if row else None


@dataclass(frozen=True, slots=True)
class CountedTurns:
    """Ended turns that were already counted and need not be counted again."""

    number: int
    before: int  #: only turns that began at this entry or later are left to count


NONE_COUNTED = CountedTurns(0, 0)


def count_settled(db: Connection, session: SessionId) -> CountedTurns:
    """Count the turns of a session before its first open one. Scans an index of its turns."""
    (before,) = db.execute(
        "select coalesce((select min(started_by) from turns indexed by turns_open"
        " where session = ?1 and ended_at is null),"
        " (select max(started_by) + 1 from turns where session = ?1), 0)",
        (session,),
    ).fetchone()
    (number,) = db.execute(
        "select count(*) from turns where session = ? and started_by < ?", (session, before)
    ).fetchone()
    return CountedTurns(int(number), int(before))


def count_ended(db: Connection, session: SessionId, known: CountedTurns = NONE_COUNTED) -> int:
    """Count the turns of a session that have ended; reads only turns after ``known``."""
    (begun,) = db.execute(
        "select count(*) from turns where session = ? and started_by >= ?",
        (session, known.before),
    ).fetchone()
    (unended,) = db.execute(
        "select count(*) from turns indexed by turns_open"
        " where session = ? and ended_at is null",
        (session,),
    ).fetchone()
    return known.number + int(begun) - int(unended)


def of_message(db: Connection, message: MessageId) -> Turn | None:
    """Return the turn that received a message, if any."""
    row = db.execute(
        "select turns.* from turns join messages on messages.parcel = turns.parcel"
        " where messages.id = ? and turns.parcel is not null",
        (message,),
    ).fetchone()
    return read_turn(row) if row else None


def at(db: Connection, session: SessionId, moment: datetime) -> int | None:
    """Return the number of the turn that ran at a time; else of the next, else the last."""
    # Turns reported after the daemon was away are dated too late: the next is most likely.
    row = db.execute(
        "select started_by from turns where session = :session and started_by > coalesce(("
        " select started_by from turns where session = :session and ended_at < :moment"
        " order by started_by desc limit 1), 0) order by started_by limit 1",
        {"session": session, "moment": moment.astimezone(UTC).isoformat()},
    ).fetchone()
    if row is None:
        query = "select max(started_by) as started_by from turns where session = ?"
        row = db.execute(query, (session,)).fetchone()
    started_by: int | None = row["started_by"]
    return started_by


def read_turn(row: Row) -> Turn:
    return Turn(
        number=row["started_by"],
        prompt=row["prompt"],
        answer=row["answer"],
        started_at=datetime.fromisoformat(row["started_at"]),
        ended_at=read_stamp(row["ended_at"]),
        how=row["how"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost=row["cost"],
        estimated_cost=row["estimated_cost"],
    )
