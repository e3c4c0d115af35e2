"""What was asked and what was answered: rows to model and back."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.messages import MessageId
from rookery.model.sessions import Turn

#: Characters kept of one prompt or answer; the agent's transcript has the rest.
LONGEST = 64_000


def follow(
    db: Connection, seq: int, fact: Fact, *, at: datetime, parcel: int | None = None
) -> None:
    """Open and close turns as ``fact`` tells."""
    match fact:
        case facts.TurnStarted(session, prompt):
            db.execute(
                "insert into turns (session, started_by, prompt, started_at, parcel)"
                " values (?, ?, ?, ?, ?)",
                (session, seq, prompt[:LONGEST], at.isoformat(), parcel),
            )
        case facts.TurnEnded(session, last_words, how):
            _close(db, session, how=how, answer=last_words, at=at)
        case facts.SessionEnded(session):
            _close(db, session, how="failed", answer="", at=at)
        case _:
            pass


def _close(db: Connection, session: SessionId, *, how: str, answer: str, at: datetime) -> None:
    # All that are open: an agent may take a second prompt into the turn that runs,
    # and it then stops once for both.
    db.execute(
        "update turns indexed by turns_open set how = ?, answer = ?, ended_at = ?"
        " where session = ? and ended_at is null",
        (how, answer[:LONGEST], at.isoformat(), session),
    )


def of_session(db: Connection, session: SessionId, *, last: int) -> list[Turn]:
    """Return the last turns, oldest first."""
    rows = db.execute(
        "select * from turns where session = ? order by started_by desc limit ?",
        (session, last),
    ).fetchall()
    return [_turn(row) for row in reversed(rows)]


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
    return _turn(row) if row else None


def _turn(row: Row) -> Turn:
    ended = row["ended_at"]
    return Turn(
        prompt=row["prompt"],
        answer=row["answer"],
        started_at=datetime.fromisoformat(row["started_at"]),
        ended_at=datetime.fromisoformat(ended) if ended else None,
        how=row["how"],
    )
