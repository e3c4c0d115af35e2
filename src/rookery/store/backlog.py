"""Messages that wait, failed, or whose arrival is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.model.messages import Step, obstacle_in
from rookery.store import flags


@dataclass(frozen=True, slots=True)
class QueuedWords:
    """Words that wait for one session."""

    messages: int
    why: str  #: what they wait for; empty only until the first delivery attempt
    obstacle: str = ""  #: ``why`` without the introduction of the error


@dataclass(frozen=True, slots=True)
class Unheard:
    """Words that did not arrive, or are not known to have."""

    words: str
    step: Step
    waits_for: str
    written_at: datetime
    obstacle: str = ""  #: ``waits_for`` without the introduction of the error


@dataclass(frozen=True, slots=True)
class Letter:
    """Words that were not heard, or are not known to have been, in the list of all of them."""

    message: int
    session: SessionId
    author: str
    words: str
    step: Step
    waits_for: str
    written_at: datetime
    obstacle: str = ""  #: ``waits_for`` without the introduction of the error


#: Why messages wait for a session that is not idle.
_BUSY = {
    "starting": "it is starting",
    "working": "it is working",
    "permission": "it asks for permission",
    "question": "it asks a question",
}


def kept_words(db: Connection) -> dict[SessionId, QueuedWords]:
    """Return the number of messages that wait for each session, and why they wait."""
    rows = db.execute(
        "select recipient, count(*) as number, max(waits_for) as why,"
        " coalesce(activity, status) as state, exists (select 1 from messages as before"
        " where before.recipient = kept.recipient and before.id = before.parcel"
        " and before.step in ('sending', 'pasted', 'submitted')) as is_behind from ("
        " select recipient, waits_for from messages where step = 'pending' union all"
        " select recipient, waits_for from messages where waits_for <> ''"
        " and step in ('sending', 'pasted', 'submitted', 'unsure') and step <> 'unsure')"
        " as kept join sessions on sessions.id = recipient group by recipient"
    ).fetchall()
    held = "words are held" if rows and flags.is_holding(db) else ""
    return {SessionId(row["recipient"]): _kept(row, held) for row in rows}


def _kept(row: Row, held: str) -> QueuedWords:
    """Return why messages wait: the global hold, then the session's state, then an obstacle."""
    behind = "words before them are on their way" if row["is_behind"] else ""
    why = held or _BUSY.get(row["state"], "") or row["why"] or behind
    return QueuedWords(row["number"], why, obstacle_in(why))


def unheard(db: Connection, session: SessionId) -> list[Unheard]:
    """Return the messages to a session that wait, failed, or may not have arrived."""
    rows = db.execute(
        "select substr(words, 1, 2000) as words, step, waits_for, written_at from messages"
        " where recipient = ? and step in ('pending', 'unsure', 'failed') order by id",
        (session,),
    )
    return [Unheard(**row, obstacle=obstacle_in(row["waits_for"])) for row in rows]


def letters(
    db: Connection, recipient: SessionId | None = None, *, last: int = 1_000
) -> list[Letter]:
    """Return the messages that are not acknowledged, oldest first."""
    rows = db.execute(
        "select id as message, recipient as session, author, substr(words, 1, 2000) as words,"
        " step, waits_for, written_at from messages where step <> 'acknowledged'"
        " and (?1 is null or recipient = ?1) order by id desc limit ?2",
        (recipient, last),
    ).fetchall()
    return [
        Letter(
            **{
                **row,
                "step": Step(row["step"]),
                "written_at": datetime.fromisoformat(row["written_at"]),
                "obstacle": obstacle_in(row["waits_for"]),
            }
        )
        for row in rows[::-1]
    ]
