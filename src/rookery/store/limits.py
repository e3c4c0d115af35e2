"""How much may wait for a session, and how many sessions hooks may bring.

The limits are kept in the store, so that reactions to facts, which know nothing but the store,
obey the configuration as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import HEADLESS
from rookery.store.messages import NEWS
from rookery.store.sessions import count_live

#: Under which names the limits are kept.
_MESSAGES, _BYTES, _HEADLESS = "queued_messages", "queued_bytes", "headless_sessions"


@dataclass(frozen=True, slots=True)
class Limits:
    queued_messages: int = 1_000  #: that wait for one session
    queued_bytes: int = 16_000_000  #: of all messages that wait for one session
    headless_sessions: int = 500  #: that live at once


def put(db: Connection, limits: Limits) -> None:
    """Keep the limits that hold from now on."""
    values = (
        (_MESSAGES, limits.queued_messages),
        (_BYTES, limits.queued_bytes),
        (_HEADLESS, limits.headless_sessions),
    )
    db.executemany(
        "insert into switches values (?, ?) on conflict do update set value = excluded.value",
        [(name, str(value)) for name, value in values],
    )


def get(db: Connection) -> Limits:
    """Return the limits that hold now."""
    rows = db.execute(
        "select name, value from switches where name in (?, ?, ?)",
        (_MESSAGES, _BYTES, _HEADLESS),
    )
    kept = {row["name"]: int(row["value"]) for row in rows}
    return Limits(**kept)


def why_no_room(db: Connection, recipient: SessionId, words: str) -> str:
    """Say which limit keeps further words for a session from being queued; empty if none.

    News of Rookery's own does not count: it must not keep anybody's words from a session.
    """
    limits = get(db)
    number, size = _waiting(db, recipient, f"not {NEWS}")
    if number >= limits.queued_messages:
        return f"{number:,} messages wait already"
    if size + len(words.encode()) > limits.queued_bytes:
        return f"{size:,} bytes wait already"
    return ""


def has_room_for_news(db: Connection, recipient: SessionId, words: str) -> bool:
    """Whether news may be queued as a message of its own; the same limits hold, apart."""
    limits = get(db)
    number, size = _waiting(db, recipient, NEWS)
    has_room = size + len(words.encode()) <= limits.queued_bytes
    return number < limits.queued_messages and has_room


def _waiting(db: Connection, recipient: SessionId, which: str) -> tuple[int, int]:
    """Count the messages that wait for a session, and their bytes."""
    number, size = db.execute(
        "select count(*), coalesce(sum(length(cast(words as blob))), 0)"
        " from messages indexed by messages_pending"
        f" where recipient = ? and step = 'pending' and {which}",
        (recipient,),
    ).fetchone()
    return number, size


def has_room_for_headless(db: Connection) -> bool:
    """Whether one more session that only its hooks tell of may live."""
    return count_live(db, HEADLESS) < get(db).headless_sessions
