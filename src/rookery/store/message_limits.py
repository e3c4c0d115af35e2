"""Limits on the messages queued for a session, and on sessions that hooks create.

The limits are kept in the store, so that reactions to facts, which know only the store,
respect the configuration as well.
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

#: The names of the limits in the table ``switches``.
_MESSAGES, _BYTES, _HEADLESS = "queued_messages", "queued_bytes", "headless_sessions"


@dataclass(frozen=True, slots=True)
class StoredLimits:
    queued_messages: int = 1_000  #: for one session
    queued_bytes: int = 16_000_000  #: of all messages queued for one session
    headless_sessions: int = 500  #: live at the same time


def put(db: Connection, limits: StoredLimits) -> None:
    """Store the limits that apply from now on."""
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
    """Return the limits that apply now."""
    rows = db.execute(
        "select name, value from switches where name in (?, ?, ?)",
        (_MESSAGES, _BYTES, _HEADLESS),
    )
    stored = {row["name"]: int(row["value"]) for row in rows}
    return StoredLimits(**stored)


def why_no_room(db: Connection, recipient: SessionId, words: str) -> str:
    """Return which limit prevents queueing another message for a session; empty if none.

    Rookery's own news does not count: it must not block messages from others.
    """
    limits = get(db)
    number, size = _waiting(db, recipient, f"not {NEWS}")
    if number >= limits.queued_messages:
        return f"{number:,} messages wait already"
    if size + len(words.encode()) > limits.queued_bytes:
        return f"{size:,} bytes wait already"
    return ""


def has_room_for_news(db: Connection, recipient: SessionId, words: str) -> bool:
    """Return whether news may be queued as a separate message; it has its own equal limits."""
    limits = get(db)
    number, size = _waiting(db, recipient, NEWS)
    has_room = size + len(words.encode()) <= limits.queued_bytes
    return number < limits.queued_messages and has_room


def _waiting(db: Connection, recipient: SessionId, which: str) -> tuple[int, int]:
    """Count the messages that wait for a session, and their bytes."""
    number, size = db.execute(
        "select count(*), coalesce(sum(length(cast(words as blob))), 0)"
        " from messages indexed by messages_by_step"
        f" where recipient = ? and step = 'pending' and {which}",
        (recipient,),
    ).fetchone()
    return number, size


@dataclass(frozen=True, slots=True)
class Headless:
    """The number of live sessions that are known by hooks only, and their limit."""

    live: int
    unidentified: int  #: how many of these have an unknown process
    limit: int

    @property
    def unidentified_limit(self) -> int:
        """Return half the limit: any process can fake sessions, which must not block others."""
        return (self.limit + 1) // 2

    @property
    def problem(self) -> str:
        """Return which agents are no longer tracked, and why; empty if all are."""
        if self.live >= self.limit:
            untracked, reached_limit = "agents that are started by hand", self.limit
        elif self.unidentified >= self.unidentified_limit:
            untracked = "agents of unknown processes that are started by hand"
            reached_limit = self.unidentified_limit
        else:
            return ""
        reached = f"{reached_limit:,} headless sessions live (limits.headless_sessions)"
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
    """Return why no further headless session is accepted; empty if one is."""
    now = headless(db)
    if now.live >= now.limit:
        return "as many headless sessions live as limits allow"
    if not is_identified and now.unidentified >= now.unidentified_limit:
        return "as many headless sessions of unknown processes live as limits allow"
    return ""


def count_unidentified(db: Connection, among: Iterable[SessionId]) -> int:
    """Count the live sessions among the given ones whose process is unknown."""
    marks = json.dumps([*among])
    return int(
        db.execute(
            f"select count(*) from sessions where {LIVE} and process is null"
            " and id in (select value from json_each(?))",
            (marks,),
        ).fetchone()[0]
    )
