"""How much may wait for a session, and how many sessions hooks may bring.

The limits are kept in the store, so that reactions to facts, which know nothing but the store,
obey the configuration as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import HEADLESS
from rookery.store.messages import NEWS
from rookery.store.sessions import LIVE

#: Under which names the limits are kept.
_MESSAGES, _BYTES, _HEADLESS = "queued_messages", "queued_bytes", "headless_sessions"


@dataclass(frozen=True, slots=True)
class StoredLimits:
    queued_messages: int = 1_000  #: that wait for one session
    queued_bytes: int = 16_000_000  #: of all messages that wait for one session
    headless_sessions: int = 500  #: that live at once


def put(db: Connection, limits: StoredLimits) -> None:
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


def get(db: Connection) -> StoredLimits:
    """Return the limits that hold now."""
    rows = db.execute(
        "select name, value from switches where name in (?, ?, ?)",
        (_MESSAGES, _BYTES, _HEADLESS),
    )
    kept = {row["name"]: int(row["value"]) for row in rows}
    return StoredLimits(**kept)


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


@dataclass(frozen=True, slots=True)
class Headless:
    """How many sessions live that only their hooks tell of, and how many may."""

    live: int
    unidentified: int  #: of these, those whose process is not known
    limit: int

    @property
    def unidentified_limit(self) -> int:
        """Half: any process can make up sessions, which must not keep real agents out."""
        return (self.limit + 1) // 2

    @property
    def problem(self) -> str:
        """Say which agents are not taken in any more, and why; empty if all are."""
        if self.live >= self.limit:
            untracked, most = "agents that are started by hand", self.limit
        elif self.unidentified >= self.unidentified_limit:
            untracked = "agents of unknown processes that are started by hand"
            most = self.unidentified_limit
        else:
            return ""
        reached = f"{most:,} headless sessions live (limits.headless_sessions)"
        return f"{reached}: no more {untracked} are tracked"


def headless(db: Connection) -> Headless:
    """Count the live headless sessions."""
    live, unidentified = db.execute(
        f"select count(*), count(*) filter (where process is null) from sessions"
        f" where {LIVE} and runtime = ?",
        (HEADLESS,),
    ).fetchone()
    return Headless(live, unidentified, get(db).headless_sessions)


def why_no_room_for_headless(db: Connection, *, is_identified: bool) -> str:
    """Say why no further headless session may live; empty if one may."""
    now = headless(db)
    if now.live >= now.limit:
        return "as many headless sessions live as limits allow"
    if not is_identified and now.unidentified >= now.unidentified_limit:
        return "as many headless sessions of unknown processes live as limits allow"
    return ""


def count_unidentified(db: Connection, among: Iterable[SessionId]) -> int:
    """Count those of some sessions that live, and whose process is not known."""
    marks = json.dumps([*among])
    return int(
        db.execute(
            f"select count(*) from sessions where {LIVE} and process is null"
            " and id in (select value from json_each(?))",
            (marks,),
        ).fetchone()[0]
    )
