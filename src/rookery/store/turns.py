"""What was asked and what was answered: rows to model and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from sqlite3 import Connection, Row

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.messages import MessageId
from rookery.model.sessions import Turn
from rookery.store.times import read_stamp, stamp

#: Characters kept of one prompt or answer; the agent's transcript has the rest.
LONGEST = 64_000


#: What an agent says of a turn's end comes at most so long after it could be seen.
AMENDED = timedelta(seconds=30)

#: With which words it began is told at most so long after it was seen to have begun.
COMPLETED = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of a fact besides what it tells."""

    seq: int  #: its entry
    at: datetime
    was_idle: bool = False  #: no turn ran before it
    parcel: int | None = None  #: whose arrival it proves


def follow(db: Connection, fact: Fact, known: Circumstances) -> None:
    """Open and close turns as ``fact`` tells."""
    at = known.at
    match fact:
        case facts.TurnStarted(session, prompt):
            begun = not known.was_idle and _complete(db, session, prompt, known)
            if not begun:
                db.execute(
                    "insert into turns (session, started_by, prompt, started_at, parcel)"
                    " values (?, ?, ?, ?, ?)",
                    (session, known.seq, prompt[:LONGEST], stamp(at), known.parcel),
                )
        case facts.TurnEnded(session, last_words, how):
            if not _close(db, session, how=how, answer=last_words, at=at) and last_words:
                _amend(db, session, how=how, answer=last_words, since=at - AMENDED)
        case facts.SessionEnded(session):
            _close(db, session, how="failed", answer="", at=at)
        case _:
            pass


def _complete(db: Connection, session: SessionId, prompt: str, known: Circumstances) -> bool:
    """Add the words to a turn that was seen to begin a moment before they were told."""
    if not prompt:
        return False
    completed = db.execute(
        "update turns indexed by turns_open set prompt = ?, parcel = ?"
        " where session = ? and ended_at is null and prompt = '' and started_at >= ?"
        " and started_by = (select max(started_by) from turns where session = ?)",
        (
            *(prompt[:LONGEST], known.parcel, session),
            *((known.at - COMPLETED).isoformat(), session),
        ),
    )
    return completed.rowcount > 0


def _close(db: Connection, session: SessionId, *, how: str, answer: str, at: datetime) -> bool:
    # All that are open: an agent may take a second prompt into the turn that runs,
    # and it then stops once for both.
    closed = db.execute(
        "update turns indexed by turns_open set how = ?, answer = ?, ended_at = ?"
        " where session = ? and ended_at is null",
        (how, answer[:LONGEST], stamp(at), session),
    )
    return closed.rowcount > 0


def _amend(
    db: Connection, session: SessionId, *, how: str, answer: str, since: datetime
) -> None:
    """Add the words to a turn that was seen to be over a moment before its agent said so."""
    db.execute(
        "update turns set how = ?, answer = ? where session = ? and answer = ''"
        " and how = 'interrupted' and ended_at >= ?"
        " and started_by = (select max(started_by) from turns where session = ?)",
        (how, answer[:LONGEST], session, since.isoformat(), session),
    )


def times_held(db: Connection, session: SessionId) -> int:
    """Say how often the turn that runs was not let stop."""
    (times,) = db.execute(
        "select coalesce(max(held), 0) from turns indexed by turns_open"
        " where session = ? and ended_at is null",
        (session,),
    ).fetchone()
    return int(times)


def hold(db: Connection, session: SessionId) -> None:
    """Note that the turn that runs was not let stop."""
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
    """Return the last turns that went on between two moments, in UTC; oldest first."""
    rows = db.execute(
        "select * from turns where session = ?1 and (?2 is null or ended_at is null"
        " or ended_at >= ?2) and (?3 is null or started_at <= ?3)"
        " order by started_by desc limit ?4",
        (session, *(each.isoformat() if each else None for each in (since, until)), last),
    ).fetchall()
    return [read_turn(row) for row in reversed(rows)]


def count_ended(db: Connection, session: SessionId) -> int:
    (count,) = db.execute(
        "select count(*) from turns where session = ? and ended_at is not null", (session,)
    ).fetchone()
    return int(count)


def of_message(db: Connection, message: MessageId) -> Turn | None:
    """Return the turn that took a message up, if one did."""
    row = db.execute(
        "select turns.* from turns join messages on messages.parcel = turns.parcel"
        " where messages.id = ? and turns.parcel is not null",
        (message,),
    ).fetchone()
    return read_turn(row) if row else None


def at(db: Connection, session: SessionId, moment: datetime) -> int | None:
    """Name the turn that ran then, by the entry that began it; else the next, else the last."""
    # What was told while the daemon was away is dated later than it was: hence the next.
    row = db.execute(
        "select started_by from turns where session = :session and started_by > coalesce(("
        " select started_by from turns where session = :session and ended_at < :moment"
        " order by started_by desc limit 1), 0) order by started_by limit 1",
        {"session": session, "moment": moment.astimezone(UTC).isoformat()},
    ).fetchone()
    if row is None:
        query = "select max(started_by) as started_by from turns where session = ?"
        row = db.execute(query, (session,)).fetchone()
    found: int | None = row["started_by"]
    return found


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
    )
