"""Store the audit: who decided about each call, and by which rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

from rookery.model.facts import SessionId
from rookery.model.permissions import (
    RequestId,
)
from rookery.store.requests import input_as_json

#: How many of the latest decisions are searched for decisions of one session.
RECENT_DECISIONS = 500


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, for the audit."""

    at: datetime
    session: SessionId
    agent: str
    tool: str
    input: Mapping[str, Any]
    decision: str
    by: str
    rule: str = ""
    reason: str = ""
    request: RequestId | None = None
    folder: str = ""  #: the folder that the call works in; empty if unknown


#: Each is a column. ``asdict`` would copy the input, and fail if that is nested too deep.
_FIELDS = tuple(each.name for each in fields(Decided))


def keep(db: Connection, decided: Decided) -> None:
    """Add a decision to the audit, which is kept for ever or as long as entries are."""
    row = {name: getattr(decided, name) for name in _FIELDS} | {
        "at": decided.at.isoformat(),
        "input": input_as_json(decided.input),
    }
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    db.execute(f"insert into audit ({names}) values ({marks})", row)


def decided(db: Connection, *, limit: int, session: SessionId | None = None) -> list[Decided]:
    """Return the newest decisions, oldest of them first."""
    rows = db.execute(
        "select * from audit where :session is null or session = :session"
        " order by id desc limit :limit",
        {"session": session, "limit": limit},
    ).fetchall()
    return [_decided(row) for row in reversed(rows)]


def denied_since(db: Connection, session: SessionId, moment: datetime) -> list[Decided]:
    """Return the denials of a session's calls from a time on, oldest first.

    A denial that could not be delivered counts as none: the call may have run.
    """
    rows = db.execute(
        "select * from audit where session = ? and decision in ('denied', 'undelivered')"
        " and at >= ? order by id",
        (session, moment.isoformat()),
    )
    denials: list[Decided] = []
    for decided in map(_decided, rows):
        if decided.decision == "denied":
            denials.append(decided)
        else:
            denials = [each for each in denials if each.request != decided.request]
    return denials


def decided_since(db: Connection, session: SessionId, moment: datetime) -> list[Decided]:
    """Return the decisions about a session at or after a recent time."""
    rows = db.execute(
        "select * from audit where id > (select max(id) from audit) - ?"
        " and session = ? and at >= ?",
        (RECENT_DECISIONS, session, moment.isoformat()),
    )
    return [_decided(row) for row in rows]


def _decided(row: Row) -> Decided:
    return Decided(
        at=datetime.fromisoformat(row["at"]),
        session=SessionId(row["session"]),
        agent=row["agent"],
        tool=row["tool"],
        input=json.loads(row["input"]),
        decision=row["decision"],
        by=row["by"],
        rule=row["rule"],
        reason=row["reason"],
        request=RequestId(row["request"]) if row["request"] else None,
        folder=row["folder"],
    )
