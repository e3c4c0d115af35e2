"""Read the messages that wait, failed, or may not have arrived."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

from rookery.model.facts import SessionId
from rookery.model.messages import EXPIRY, Step
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.store import flags
from rookery.store.messages import obstacle_in, step_in
from rookery.store.timestamps import read_stamp


@dataclass(frozen=True, slots=True)
class QueuedWords:
    """The messages that wait for one session."""

    messages: int
    why: str  #: what they wait for; empty only until the first delivery attempt
    obstacle: str = ""  #: the reason alone; ``why`` may be a whole error message
    blocked: Obstacle | None = None  #: the same as a code with a detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    """A message that did not arrive, or may not have arrived."""

    words: str
    step: Step
    waits_for: str
    written_at: datetime
    obstacle: str = ""  #: the reason alone; ``waits_for`` may be a whole error message
    blocked: Obstacle | None = None  #: the same as a code with a detail
    withdrawn_by: str = ""  #: who took it back; the clock if it expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter(Unheard):
    """A message in the list of all sessions."""

    message: int
    session: SessionId
    author: str
    expires_at: datetime | None = None  #: withdrawn if it is not sent by then
    repeats: int | None = None  #: the earlier message whose text this one sends again
    cleared_at: datetime | None = None  #: when it was removed from the list
    way: str = ""  #: how it was given to the agent; empty if it was not


#: Why messages wait for a session that is not idle.
_BUSY = {
    "starting": Obstacle(BlockedReason.STARTING, "it is starting"),
    "working": Obstacle(BlockedReason.WORKING, "it is working"),
    "permission": Obstacle(BlockedReason.PERMISSION, "it asks for permission"),
    "question": Obstacle(BlockedReason.QUESTION, "it asks a question"),
}

_HELD = Obstacle(BlockedReason.HELD, "deliveries are on hold")
_QUEUED = Obstacle(BlockedReason.QUEUED, "words before them are on their way")


def kept_words(db: Connection) -> dict[SessionId, QueuedWords]:
    """Return the number of messages that wait for each session, and why they wait."""
    rows = db.execute(
        "select recipient, count(*) as number, max(waits_for) as why, blocked_code,"
        " blocked_detail,"
        " coalesce(activity, status) as state, exists (select 1 from messages as before"
        " where before.recipient = kept.recipient and before.id = before.parcel"
        " and before.step in ('sending', 'pasted', 'submitted')) as is_behind from ("
        " select recipient, waits_for, blocked_code, blocked_detail from messages"
        " where step = 'pending' union all"
        " select recipient, waits_for, blocked_code, blocked_detail from messages"
        " where waits_for <> '' and step <> 'unsure'"
        " and step in ('sending', 'pasted', 'submitted', 'unsure'))"
        " as kept join sessions on sessions.id = recipient group by recipient"
    ).fetchall()
    held = _HELD if rows and flags.is_holding(db) else None
    return {SessionId(row["recipient"]): _kept(row, held) for row in rows}


def _kept(row: Row, held: Obstacle | None) -> QueuedWords:
    """Return the first reason that applies: hold, busy session, obstacle, earlier messages."""
    if not (blocked := held or _BUSY.get(row["state"])) and row["why"]:
        blocked, why = obstacle_in(row), row["why"]
    else:
        blocked = blocked or (_QUEUED if row["is_behind"] else None)
        why = blocked.detail if blocked else ""
    return QueuedWords(row["number"], why, blocked.detail if blocked else why, blocked)


def unheard(db: Connection, session: SessionId) -> list[Unheard]:
    """Return the messages to a session that wait, failed, or may not have arrived."""
    rows = db.execute(
        "select substr(words, 1, 2000) as words, step, waits_for, blocked_code,"
        " blocked_detail, withdrawn_by, written_at from messages where recipient = ?"
        " and step in ('pending', 'unsure', 'failed') and cleared_at is null order by id",
        (session,),
    )
    return [Unheard(**_state(row)) for row in rows]


#: Selects messages that were cleared, or withdrawn by an actor other than ``EXPIRY``.
_DONE_WITH = "(cleared_at is not null or withdrawn_by not in ('', ?))"


def letters(
    db: Connection,
    among: Collection[SessionId] | None = None,
    *,
    last: int = 1_000,
    done_with: bool = False,
) -> list[Letter]:
    """Return the messages that are not acknowledged, oldest first.

    If ``among`` is given, only those to these sessions. ``done_with`` includes those that were
    withdrawn on request or cleared.
    """
    rows = db.execute(
        "select id, recipient, author, substr(words, 1, 2000) as words, step, waits_for,"
        " blocked_code, blocked_detail, withdrawn_by, written_at, expires_at, repeats,"
        " cleared_at, way"
        f" from messages where step <> 'acknowledged' and (? or not {_DONE_WITH})"
        " and (?3 is null or recipient in (select value from json_each(?3)))"
        " order by id desc limit ?4",
        (done_with, EXPIRY, None if among is None else json.dumps([*among]), last),
    ).fetchall()
    return [
        Letter(
            message=row["id"],
            session=SessionId(row["recipient"]),
            author=row["author"],
            expires_at=read_stamp(row["expires_at"]),
            repeats=row["repeats"],
            cleared_at=read_stamp(row["cleared_at"]),
            way=row["way"],
            **_state(row),
        )
        for row in rows[::-1]
    ]


def _state(row: Row) -> dict[str, Any]:
    blocked = obstacle_in(row)
    return {
        "words": row["words"],
        "step": step_in(row),
        "waits_for": row["waits_for"],
        "written_at": datetime.fromisoformat(row["written_at"]),
        "obstacle": blocked.detail if blocked else row["waits_for"],
        "blocked": blocked,
        "withdrawn_by": row["withdrawn_by"],
    }
