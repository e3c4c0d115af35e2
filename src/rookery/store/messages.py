"""Store messages and their delivery steps."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection, Row
from typing import NamedTuple

from rookery.model.facts import SessionId
from rookery.model.messages import (
    Message,
    MessageId,
    Origin,
    Step,
    Urgency,
    Words,
)
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import HEADLESS
from rookery.store.timestamps import read_stamp, stamp

#: Matches Rookery's own news, as opposed to messages of a person or a session.
NEWS = "kind = 'news'"


def add(db: Connection, recipient: SessionId, words: Words, origin: Origin) -> MessageId:
    expires_at = origin.handling.expires_at
    added = db.execute(
        "insert into messages (recipient, words, removed, changed, author, kind, cause,"
        " envelope, hops, relay, urgency, expires_at, written_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select at from entries where seq = ?))",
        (
            *(recipient, words.text, words.removed, words.changed),
            *(str(origin.author), origin.kind, origin.cause),
            *(origin.envelope, origin.hops, origin.relay, origin.handling.urgency),
            *(stamp(expires_at) if expires_at else None, origin.cause),
        ),
    )
    number = MessageId(added.lastrowid or 0)
    by = "rookery" if origin.author.is_rookery else str(origin.author)
    db.execute(
        "update sessions set last_input_origin = ?1 where id = ?2 and last_input_origin <> ?1",
        (by, recipient),
    )
    return number


class PendingMessage(NamedTuple):
    """A pending message, whose text may still be extended."""

    id: MessageId
    words: str


def find_pending(
    db: Connection, recipient: SessionId, *, envelope: str
) -> PendingMessage | None:
    """Return the newest pending message to a session under an envelope."""
    row = db.execute(
        "select id, words from messages indexed by messages_by_step"
        " where recipient = ? and step = 'pending' and envelope = ? order by id desc limit 1",
        (recipient, envelope),
    ).fetchone()
    return PendingMessage(MessageId(row["id"]), row["words"]) if row else None


def find_caused(db: Connection, recipient: SessionId, origin: Origin) -> PendingMessage | None:
    """Return the pending message to a session that the same author wrote for the same entry."""
    row = db.execute(
        "select id, words from messages"
        " where cause = ? and author = ? and recipient = ? and step = 'pending'",
        (origin.cause, str(origin.author), recipient),
    ).fetchone()
    return PendingMessage(MessageId(row["id"]), row["words"]) if row else None


def rewrite(db: Connection, message: MessageId, words: str, *, hops: int) -> None:
    """Replace the text of a pending message; the higher hop count applies."""
    db.execute(
        "update messages set words = ?, hops = max(hops, ?) where id = ? and step = 'pending'",
        (words, hops, message),
    )


def hops_of(db: Connection, session: SessionId, *, stop: datetime | None = None) -> int:
    """Return the hop count of a session's turn: the running one, or that which ended then.

    A prompt from a person, or one that Rookery did not send, counts as 0. Rookery's own news
    does not reset the hop count of the messages next to it.
    """
    row = db.execute(
        f"select min(iif({NEWS}, null, hops)) as nearest, max(hops) as furthest"
        " from messages where parcel in ("
        " select parcel from (select parcel, ended_at from turns where session = ?"
        " order by started_by desc limit 8) where ended_at is ?)",
        (session, stop.isoformat() if stop else None),
    ).fetchone()
    return 0 if row["nearest"] == 0 else row["furthest"] or 0


def get(db: Connection, message: MessageId) -> Message | None:
    row = db.execute("select * from messages where id = ?", (message,)).fetchone()
    if row is None:
        return None
    blocked = obstacle_in(row)
    return Message(
        id=MessageId(row["id"]),
        recipient=SessionId(row["recipient"]),
        step=step_in(row),
        removed=row["removed"],
        changed=row["changed"],
        waits_for=row["waits_for"],
        obstacle=blocked.detail if blocked else row["waits_for"],
        blocked=blocked,
        withdrawn_by=row["withdrawn_by"],
        repeats=row["repeats"],
        expires_at=read_stamp(row["expires_at"]),
        urgency=Urgency(row["urgency"]),
        way=row["way"],
        receipt=row["acknowledged_by"],
    )


def step_in(row: Row) -> Step:
    """Return the step of the message of a row."""
    return Step.WITHDRAWN if row["withdrawn_by"] else Step(row["step"])


def obstacle_in(row: Row) -> Obstacle | None:
    """Return what keeps the message of a row from being delivered."""
    code = row["blocked_code"]
    return Obstacle(BlockedReason(code), row["blocked_detail"]) if code else None


def owed(db: Connection) -> list[SessionId]:
    """Return the sessions with a parcel in delivery, and those that can take pending ones.

    A headless session cannot receive messages: they stay pending, where the user sees them.
    """
    rows = db.execute(
        "select recipient from messages"
        " where id = parcel and step in ('sending', 'pasted', 'submitted') union"
        " select recipient from messages join sessions on sessions.id = recipient"
        " where step = 'pending' and runtime <> ?"
        " and (activity = 'idle' or (activity = 'working' and urgency <> ''))",
        (HEADLESS,),
    )
    return [SessionId(row["recipient"]) for row in rows]


def is_owed(db: Connection, recipient: SessionId) -> bool:
    """Return whether messages to it are pending or in delivery."""
    return bool(
        db.execute(
            "select 1 from messages where recipient = ?"
            " and step in ('pending', 'sending', 'pasted', 'submitted')",
            (recipient,),
        ).fetchone()
    )


def has_pending(db: Connection, recipient: SessionId) -> bool:
    """Return whether messages to it wait whose delivery has not begun."""
    found = db.execute(
        "select 1 from messages indexed by messages_by_step"
        " where recipient = ? and step = 'pending'",
        (recipient,),
    )
    return found.fetchone() is not None


def urgency_of(db: Connection, recipient: SessionId) -> Urgency:
    """Return how the first urgent message that waits for a session reaches it."""
    row = db.execute(
        "select urgency from messages indexed by messages_urgent where recipient = ?"
        " and step = 'pending' and urgency <> '' order by id limit 1",
        (recipient,),
    ).fetchone()
    return Urgency(row["urgency"]) if row else Urgency.NONE


def count_interrupt(db: Connection, recipient: SessionId, *, most: int) -> str:
    """Count an interrupt for an urgent message, before the keys are pressed.

    Return the author of the message; empty if none waits or ``most`` were counted already.
    """
    row = db.execute(
        "update messages set interrupts = interrupts + 1 where id = ("
        " select min(id) from messages indexed by messages_urgent where recipient = ?"
        " and step = 'pending' and urgency <> '' and urgency = 'interrupt' and interrupts < ?)"
        " returning author",
        (recipient, most),
    ).fetchone()
    return str(row["author"]) if row else ""


def first_for(db: Connection, recipient: SessionId) -> MessageId | None:
    """Return the first message to a session, its start prompt, if there is one."""
    query = "select min(id) as id from messages where recipient = ?"
    found = db.execute(query, (recipient,)).fetchone()["id"]
    return None if found is None else MessageId(found)


def provenance(db: Connection, session: SessionId) -> list[str]:
    """Return the origins of a session's last prompt, except text that a person wrote."""
    rows = db.execute(
        "select distinct iif(relay is null, envelope, 'relay ' || relay || ', session '"
        " || coalesce(sessions.name || ' (' || sessions.id || ')', 'unknown')) as origin"
        " from messages left join entries on seq = cause"
        " left join sessions on sessions.id = entries.session"
        " where (envelope <> '' or relay is not null) and parcel ="
        " (select parcel from turns where session = ? order by started_by desc limit 1)",
        (session,),
    )
    return [row["origin"] for row in rows]


def explain(db: Connection, recipient: SessionId, obstacle: Obstacle) -> None:
    """Record why the delivery of pending messages to a session has not begun."""
    db.execute(
        "update messages set waits_for = ?1, blocked_code = ?2, blocked_detail = ?1"
        " where recipient = ?3 and step = 'pending'",
        (obstacle.detail, obstacle.code, recipient),
    )
