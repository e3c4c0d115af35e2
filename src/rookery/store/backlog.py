"""Messages that have not arrived: those that wait, and those of which that is not known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.model.messages import Step, obstacle_in
from rookery.store import switches


@dataclass(frozen=True, slots=True)
class Kept:
    """Words that wait for one session."""

    messages: int
    why: str  #: what they wait for; empty only in the moment before they are looked at
    obstacle: str = ""  #: what ``why`` says, without how an error introduces it


@dataclass(frozen=True, slots=True)
class Unheard:
    """Words that did not arrive, or are not known to have."""

    words: str
    step: Step
    waits_for: str
    written_at: datetime
    obstacle: str = ""  #: what ``waits_for`` says, without how an error introduces it


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
    obstacle: str = ""  #: what ``waits_for`` says, without how an error introduces it


#: Why words wait for a session that is not idle.
_BUSY = {
    "starting": "it is starting",
    "working": "it is working",
    "permission": "it asks for permission",
    "question": "it asks a question",
}


def kept_words(db: Connection) -> dict[SessionId, Kept]:
    """Count the words that wait for each session, and say what keeps them."""
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
    held = "words are held" if rows and switches.is_holding(db) else ""
    return {SessionId(row["recipient"]): _kept(row, held) for row in rows}


def _kept(row: Row, held: str) -> Kept:
    """Read what keeps words: what holds for all, then its state, then what was in the way."""
    behind = "words before them are on their way" if row["is_behind"] else ""
    why = held or _BUSY.get(row["state"], "") or row["why"] or behind
    return Kept(row["number"], why, obstacle_in(why))


def unheard(db: Connection, session: SessionId) -> list[Unheard]:
    """Return the words for one session that wait, failed, or may not have arrived."""
    rows = db.execute(
        "select substr(words, 1, 2000) as words, step, waits_for, written_at from messages"
        " where recipient = ? and step in ('pending', 'unsure', 'failed') order by id",
        (session,),
    )
    return [Unheard(**row, obstacle=obstacle_in(row["waits_for"])) for row in rows]


def letters(
    db: Connection, recipient: SessionId | None = None, *, last: int = 1_000
) -> list[Letter]:
    """Return what waits, is on its way, or never arrived; oldest first."""
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
