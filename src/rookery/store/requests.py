"""Store permission requests and the answers to them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

from rookery.model.errors import RequestUnknown
from rookery.model.facts import SessionId, ToolUsed
from rookery.model.folders import working_folders
from rookery.model.permissions import (
    INEXACT,
    Call,
    Outcome,
    Question,
    Request,
    RequestId,
    Source,
    Verdict,
)
from rookery.model.short_texts import shortened
from rookery.store import grants
from rookery.store.timestamps import read_stamp

#: Characters of a call's input that are kept; the agent's transcript has the rest.
MAX_INPUT_CHARACTERS = 64_000


@dataclass(frozen=True, slots=True)
class Asking:
    """How a person is asked about a call."""

    at: datetime
    deadline: datetime | None  #: none if the agent asks in its own terminal
    hook: str | None  #: the key of the hook call that waits for the answer
    source: Source = "hook"
    has_dialog: bool = True  #: the agent can ask the same in its own terminal


def add(db: Connection, session: SessionId, call: Call, asking: Asking) -> RequestId:
    """Add a request to a person."""
    request = RequestId(secrets.token_hex(4))
    row = {
        "id": request,
        "session": session,
        "source": asking.source,
        "asked_at": asking.at.isoformat(),
        **_columns(call, asking),
    }
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    db.execute(f"insert into requests ({names}) values ({marks})", row)
    return request


def _columns(call: Call, asking: Asking) -> dict[str, object]:
    return {
        "kind": call.kind,
        "tool": call.tool,
        "input": input_as_json(call.input),
        "questions": json.dumps([asdict(question) for question in call.questions]),
        "message": call.summary,
        "digest": call.digest,
        "hook": asking.hook,
        "deadline": asking.deadline.isoformat() if asking.deadline else None,
        # Only the answer to an announced call is reused when the agent then asks.
        "is_spent": call.is_asked,
        "has_dialog": asking.has_dialog,
        "folder": call.folder,
        "call_id": call.call_id,
        "subagent": call.subagent,
    }


def seen_on_screen(db: Connection, session: SessionId) -> list[Request]:
    """Return the latest requests of a session that were read from its screen, newest first."""
    rows = db.execute(
        "select * from requests where session = ? and source = 'screen'"
        " order by asked_at desc limit 10",
        (session,),
    )
    return [read_request(row) for row in rows]


def answered_since(db: Connection, session: SessionId, moment: datetime) -> list[Request]:
    """Return the requests of a session that were answered at or after a time."""
    rows = db.execute(
        "select * from requests where session = ? and outcome <> 'open' and answered_at >= ?",
        (session, moment.isoformat()),
    )
    return [read_request(row) for row in rows]


def take_over(db: Connection, request: RequestId, call: Call, asking: Asking) -> None:
    """Turn an open request that was read from the screen into the request of a hook call.

    Its id stays the same, because a person may have seen it already.
    """
    row = {**_columns(call, asking), "message": call.summary[:2_000]}
    changes = ", ".join(f"{name} = :{name}" for name in row)
    db.execute(
        f"update requests set source = 'hook', {changes} where id = :id and outcome = 'open'",
        {**row, "id": request},
    )


def get(db: Connection, request: RequestId) -> Request:
    if found := find(db, request):
        return found
    raise unknown(request)


def unknown(request: RequestId) -> RequestUnknown:
    """Return the error for a request that does not exist, or not for the caller."""
    return RequestUnknown(f"{request!r}. See them with:  rookery permissions")


def find(db: Connection, request: RequestId) -> Request | None:
    row = db.execute("select * from requests where id = ?", (request,)).fetchone()
    return read_request(row) if row else None


def listed(db: Connection, *, limit: int, only_open: bool) -> list[Request]:
    """Return the newest requests, oldest of them first; missed ones count as open."""
    condition = "where outcome = 'open' or missed" if only_open else ""
    rows = db.execute(
        f"select * from requests {condition} order by asked_at desc limit ?", (limit,)
    ).fetchall()
    return [read_request(row) for row in reversed(rows)]


def open_of(db: Connection, session: SessionId) -> list[Request]:
    """Return the open requests of a session, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and outcome = 'open' order by asked_at",
        (session,),
    )
    return [read_request(row) for row in rows]


def of_hook(db: Connection, key: str) -> Request | None:
    """Return the request of a hook call, for a call that is repeated after a restart."""
    row = db.execute("select * from requests where hook = ?", (key,)).fetchone()
    return read_request(row) if row else None


def of_call(db: Connection, session: SessionId, call: Call) -> Request | None:
    """Return the open request about this call."""
    row = db.execute(
        "select * from requests where session = ? and outcome = 'open' and tool = ?"
        " and digest in (?, ?) and folder = ? and call_id = ? and subagent = ?"
        " order by asked_at limit 1",
        (
            session,
            call.tool,
            call.digest,
            f"{INEXACT}{call.digest}",
            call.folder,
            call.call_id,
            call.subagent,
        ),
    ).fetchone()
    return read_request(row) if row else None


#: Matches requests that may be about a call that has run: by the agent's id of the call, else
#: by the same input. A call whose hook still waits before the tool cannot have run.
_OF_USE = """
    session = :session and tool = :tool and (
        (call_id = :call_id and call_id <> '')
        or (
            (digest in (:digest, :inexact) or :digest = '')
            and subagent = :subagent
            and (call_id = '' or :call_id = '')
            and (folder = :folder or folder = '' or :folder = '')
            and (is_spent or hook is null or handed)))
"""


def of_use(db: Connection, used: ToolUsed) -> Request | None:
    """Return the open request about a call that has run, if there is one."""
    row = db.execute(
        f"select * from requests where {_OF_USE} and outcome = 'open'"
        " order by call_id = '', asked_at limit 1",
        _use(used),
    ).fetchone()
    return read_request(row) if row else None


def ended_in_terminal(db: Connection, used: ToolUsed, *, since: datetime) -> RequestId | None:
    """Return the latest request about a call that has run and was answered in the terminal."""
    row = db.execute(
        f"select id from requests where {_OF_USE} and outcome = 'gone'"
        " and answered_by = 'terminal' and answered_at >= :since"
        " order by answered_at desc limit 1",
        {**_use(used), "since": since.isoformat()},
    ).fetchone()
    return RequestId(row["id"]) if row else None


def _use(used: ToolUsed) -> dict[str, str]:
    return {
        "session": used.session,
        "tool": used.tool,
        "digest": used.call,
        "inexact": f"{INEXACT}{used.call}",
        "subagent": used.subagent,
        "call_id": used.call_id,
        "folder": used.folder,
    }


def overdue(db: Connection, *, now: datetime) -> list[RequestId]:
    rows = db.execute(
        "select id from requests where outcome = 'open' and deadline <= ?", (now.isoformat(),)
    )
    return [RequestId(row["id"]) for row in rows]


def settle(db: Connection, request: RequestId, verdict: Verdict, *, at: datetime) -> bool:
    """Store an answer. False if there is one already: the first one counts."""
    settled = db.execute(
        "update requests set outcome = ?, answered_by = ?, answered_at = ?, reason = ?,"
        " answers = ?, for_session = ? where id = ? and outcome = 'open'",
        (
            *(verdict.outcome, verdict.by, at.isoformat(), verdict.reason),
            *(json.dumps(dict(verdict.answers)), verdict.for_session, request),
        ),
    )
    if settled.rowcount and verdict.for_session:
        grants.grant(db, request)
    return settled.rowcount > 0


def verdict_of(db: Connection, request: RequestId) -> Verdict | None:
    """Return the verdict on a request; none while it is open."""
    row = db.execute("select * from requests where id = ?", (request,)).fetchone()
    if row is None or row["outcome"] == Outcome.OPEN:
        return None
    answers = {name: tuple(each) for name, each in json.loads(row["answers"]).items()}
    return Verdict(
        outcome=Outcome(row["outcome"]),
        by=row["answered_by"],
        reason=row["reason"],
        for_session=bool(row["for_session"]),
        answers=answers,
    )


def read_request(row: Row) -> Request:
    tool_input = json.loads(row["input"])
    return Request(
        id=RequestId(row["id"]),
        session=SessionId(row["session"]),
        kind=row["kind"],
        tool=row["tool"],
        input=tool_input,
        questions=tuple(_question(each) for each in json.loads(row["questions"])),
        message=row["message"],
        outcome=Outcome(row["outcome"]),
        asked_at=datetime.fromisoformat(row["asked_at"]),
        deadline=read_stamp(row["deadline"]),
        by_keys=row["hook"] is None or bool(row["handed"]),
        source=row["source"],
        has_dialog=bool(row["has_dialog"]),
        is_exact=not row["digest"].startswith(INEXACT),
        made_in=row["folder"],
        missed=bool(row["missed"]),
        delivery=row["keys"],
        answers={name: tuple(each) for name, each in json.loads(row["answers"]).items()},
        answered_by=row["answered_by"],
        answered_at=read_stamp(row["answered_at"]),
        reason=row["reason"],
        folder=next(iter(working_folders(tool_input, row["folder"])), ""),
    )


def _question(stored: Mapping[str, Any]) -> Question:
    options, described = tuple(stored["options"]), tuple(stored.get("descriptions", ()))
    return Question(stored["text"], options, stored["takes_several"], described)


def input_as_json(tool_input: Mapping[str, Any]) -> str:
    whole = json.dumps(dict(tool_input), ensure_ascii=False)
    if len(whole) <= MAX_INPUT_CHARACTERS:
        return whole
    cut = {
        name: shortened(str(value), MAX_INPUT_CHARACTERS // 10)
        for name, value in tool_input.items()
    }
    return json.dumps(cut)
