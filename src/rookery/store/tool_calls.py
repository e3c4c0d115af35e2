"""Read the tool calls of sessions from the journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call, in the turn in which it was made."""

    number: int  #: its entry
    turn: int  #: the entry that began the turn
    at: datetime
    tool: str
    argument: str = ""  #: such as its command
    denied_by: str = ""  #: who or what denied it; empty if it was not
    rule: str = ""  #: the rule that denied it
    call_id: str = ""  #: the agent's own id of the call, if it reports one
    failure: str = ""  #: why it failed; empty if it is not known to have failed


def since(db: Connection, session: SessionId, *, turn: int, limit: int) -> list[ToolCall]:
    """Return the last tool calls of a session from a turn on, oldest first.

    They are kept as long as the entries of the journal.
    """
    rows = db.execute(
        "select seq, at, body, (select max(started_by) from turns"
        " where turns.session = :session and started_by <= seq) as turn"
        " from entries indexed by entries_of_tools"
        " where kind = 'tool-called' and seq > :turn and session = :session"
        " order by seq desc limit :limit",
        {"session": session, "turn": turn, "limit": limit},
    ).fetchall()
    return [_read(row) for row in reversed(rows)]


def _read(row: Row) -> ToolCall:
    body = json.loads(row["body"])
    at = datetime.fromisoformat(row["at"])
    return ToolCall(
        number=row["seq"],
        turn=row["turn"] or 0,
        at=at,
        tool=body["tool"],
        argument=body.get("argument", ""),
        call_id=body.get("call_id", ""),
    )
