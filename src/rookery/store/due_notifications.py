"""Find the notifications that a channel is to get now, and when the next ones are due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection, Row

from rookery.model.notifications import NotificationItem, NotificationKind
from rookery.store.notifications import ITEMS, read_item
from rookery.store.timestamps import read_stamp, stamp

#: The kinds that say that a session waits: for an answer, or for its next prompt.
_WAITING = (NotificationKind.NEEDS_YOU, NotificationKind.FINISHED)

#: When the channel was last told that the same session waits.
_TOLD_AT = """
    (select max(told.settled_at) from notifications as told
     where told.session = notifications.session and told.channel = notifications.channel
     and told.kind in (?, ?) and told.state in ('sending', 'sent', 'unsure')) as told_at
"""


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long notifications wait."""

    batch: timedelta  #: for others of their kind
    between: timedelta  #: between two that say that the same session waits
    long_turn: timedelta  #: until it is told that a turn still runs


def due(
    db: Connection, channel: str, pauses: Pauses, *, now: datetime
) -> list[NotificationItem]:
    """Return what waits for a channel, oldest first, if any of it is due; else nothing.

    What says that a session waits, too soon after the last time, is left out.
    """
    written = f"{ITEMS} where channel = ? and state = 'waiting' and due_at <= ?"
    ordered = f"select *, {_TOLD_AT} from ({written}) as notifications order by id"
    found = db.execute(ordered, (*_WAITING, channel, stamp(now))).fetchall()
    rows = [row for row in found if _is_set_back(row, now) or _earliest(row, pauses) <= now]
    is_due = any(_due_at(row, pauses) <= now or _is_set_back(row, now) for row in rows)
    return [read_item(row) for row in rows] if is_due else []


def next_due(db: Connection, channel: str, pauses: Pauses) -> datetime | None:
    """Return when the next notification is due."""
    rows = db.execute(
        f"select *, {_TOLD_AT} from notifications where channel = ? and state = 'waiting'",
        (*_WAITING, channel),
    )
    return min((_due_at(row, pauses) for row in rows), default=None)


def _due_at(row: Row, pauses: Pauses) -> datetime:
    """Return when one is due: a reminder and a repeated attempt have their own time."""
    due_at = datetime.fromisoformat(row["due_at"])
    is_later = row["is_reminder"] or row["attempts"]
    return max(due_at if is_later else due_at + pauses.batch, _earliest(row, pauses))


def _earliest(row: Row, pauses: Pauses) -> datetime:
    """Return when it may be told at the earliest."""
    told_at = read_stamp(row["told_at"])
    is_held = row["kind"] in _WAITING and not row["is_reminder"]
    if told_at and is_held:
        return told_at + pauses.between
    due_at = datetime.fromisoformat(row["due_at"])
    is_long_turn = row["kind"] == NotificationKind.LONG_TURN and not row["attempts"]
    return due_at + pauses.long_turn if is_long_turn else due_at


def _is_set_back(row: Row, now: datetime) -> bool:
    """Return whether the clock was set to a time before the last notification."""
    told_at = read_stamp(row["told_at"])
    return told_at is not None and told_at > now
