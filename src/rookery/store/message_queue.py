"""Store what a person does with the queue: withdraw, edit, repeat and clear messages.

Only a pending message can be changed. The writer runs one transaction at a time, so that a
message is either withdrawn or claimed for delivery, never both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.messages import EXPIRY, MessageId, MessageKind, Step, Words
from rookery.model.sessions import MAX_FIRST_PROMPT_CHARACTERS
from rookery.store.messages import first_for, step_in
from rookery.store.timestamps import stamp

#: Messages that failed, were withdrawn or may not have arrived.
_SETTLED = "step in ('failed', 'unsure')"


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message with everything that decides whether it may be changed."""

    id: MessageId
    recipient: SessionId
    step: Step
    author: str
    kind: MessageKind
    words: str
    is_alone: bool  #: a turn of its own, as its sender waits for its answer
    is_cleared: bool  #: it failed or may have arrived, and is no longer listed


def find(db: Connection, message: int) -> QueuedMessage | None:
    row = db.execute(
        "select messages.*, coalesce(json_extract(body, '$.alone'), 0) as is_alone"
        " from messages left join entries on seq = cause where id = ?",
        (message,),
    ).fetchone()
    if row is None:
        return None
    return QueuedMessage(
        id=MessageId(row["id"]),
        recipient=SessionId(row["recipient"]),
        step=step_in(row),
        author=row["author"],
        kind=MessageKind(row["kind"]),
        words=row["words"],
        is_alone=bool(row["is_alone"]),
        is_cleared=row["cleared_at"] is not None,
    )


def withdraw(db: Connection, message: QueuedMessage, *, by: str) -> bool:
    """Withdraw a message that waits. False if its delivery has begun or it is settled."""
    withdrawn = db.execute(
        "update messages set step = 'failed', withdrawn_by = ? where id = ?"
        " and step = 'pending'",
        (by, message.id),
    )
    if withdrawn.rowcount:
        _rewrite_first_prompt(db, message, "")
    return withdrawn.rowcount > 0


def edit(db: Connection, message: QueuedMessage, words: Words) -> bool:
    """Replace the text of a message that waits. False if its delivery has begun."""
    edited = db.execute(
        "update messages set words = ?, removed = ?, changed = ? where id = ?"
        " and step = 'pending'",
        (words.text, words.removed, words.changed, message.id),
    )
    if edited.rowcount:
        _rewrite_first_prompt(db, message, words.text)
    return edited.rowcount > 0


def repeat(
    db: Connection, message: QueuedMessage, recipient: SessionId, *, cause: int, at: datetime
) -> MessageId:
    """Queue the same text again under a new id; the earlier message is no longer listed."""
    added = db.execute(
        "insert into messages (recipient, words, removed, changed, author, kind, envelope,"
        " hops, relay, cause, repeats, written_at)"
        " select ?3, words, removed, changed, author, kind, envelope, hops, relay,"
        " ?1, id, (select at from entries where seq = ?1) from messages where id = ?2",
        (cause, message.id, recipient),
    )
    clear(db, [message.id], at=at)
    return MessageId(added.lastrowid or 0)


def latest_repetition(db: Connection, message: QueuedMessage) -> QueuedMessage | None:
    """Return the last copy of a message that was sent again."""
    if not message.is_cleared:
        return None  # a message that is sent again is cleared: this spares a search
    row = db.execute("select max(id) from messages where repeats = ?", (message.id,)).fetchone()
    return find(db, row[0]) if row[0] else None


def settled(db: Connection, recipients: Iterable[SessionId] | None) -> list[MessageId]:
    """Return the listed messages that failed, expired or may not have arrived."""
    is_listed = f"cleared_at is null and withdrawn_by in ('', '{EXPIRY}')"
    return _listed(db, recipients, f"{_SETTLED} and {is_listed}")


def waiting(db: Connection, recipients: Iterable[SessionId] | None) -> list[MessageId]:
    """Return the messages that wait."""
    return _listed(db, recipients, "step = 'pending'")


def clear(db: Connection, messages: Iterable[MessageId], *, at: datetime) -> None:
    """Remove settled messages from the list."""
    db.execute(
        f"update messages set cleared_at = ? where {_SETTLED}"
        " and id in (select value from json_each(?))",
        (stamp(at), json.dumps([*messages])),
    )


def expired(db: Connection, *, now: datetime) -> list[MessageId]:
    """Return the messages that were not sent in time."""
    rows = db.execute(
        "select id from messages indexed by messages_expiring where step = 'pending'"
        " and expires_at is not null and expires_at <= ? order by id",
        (stamp(now),),
    )
    return [MessageId(row["id"]) for row in rows]


def put_off(db: Connection, by: timedelta) -> None:
    """Postpone the expiry of all messages, as the clock jumped or the computer slept."""
    rows = db.execute(
        "select id, expires_at from messages indexed by messages_expiring"
        " where step = 'pending' and expires_at is not null"
    ).fetchall()
    for row in rows:
        later = datetime.fromisoformat(row["expires_at"]) + by
        db.execute("update messages set expires_at = ? where id = ?", (stamp(later), row["id"]))


def _listed(
    db: Connection, recipients: Iterable[SessionId] | None, condition: str
) -> list[MessageId]:
    among = None if recipients is None else json.dumps([*recipients])
    rows = db.execute(
        f"select id from messages where {condition} and (?1 is null"
        " or recipient in (select value from json_each(?1))) order by id",
        (among,),
    )
    return [MessageId(row["id"]) for row in rows]


def _rewrite_first_prompt(db: Connection, message: QueuedMessage, words: str) -> None:
    """Keep a session's first prompt equal to the message that will be its first prompt."""
    if message.id == first_for(db, message.recipient):
        db.execute(
            "update sessions set first_prompt = ? where id = ? and first_prompt = ?",
            (
                words[:MAX_FIRST_PROMPT_CHARACTERS],
                message.recipient,
                message.words[:MAX_FIRST_PROMPT_CHARACTERS],
            ),
        )
