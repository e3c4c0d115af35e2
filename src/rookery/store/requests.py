"""Store permission requests, grants and the audit of decisions."""

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
    shortened,
)
from rookery.store.times import read_stamp

#: Characters of a call's input that are kept; the agent's transcript has the rest.
MAX_INPUT_CHARACTERS = 64_000

#: Latest decisions of all sessions that are searched for those of one session.
RECENT_DECISIONS = 500

#: The key of a grant: a call, in the folder in which it was made.
_GRANTED = "digest || ' ' || folder"


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
    deadline = asking.deadline.isoformat() if asking.deadline else None
    db.execute(
        "insert into requests (id, session, source, kind, tool, input, questions, message,"
        " digest, hook, asked_at, deadline, is_spent, has_dialog, folder, call_id, subagent)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(request, session, asking.source, call.kind, call.tool, _json(call.input)),
            json.dumps([asdict(question) for question in call.questions]),
            *(call.summary, call.digest, asking.hook),
            # Only the answer to an announced call is reused when the agent then asks.
            *(asking.at.isoformat(), deadline, call.is_asked, asking.has_dialog),
            *(call.folder, call.call_id, call.subagent),
        ),
    )
    return request


def seen_on_screen(db: Connection, session: SessionId) -> list[Request]:
    """Return the latest requests of a session that were read from its screen, newest first."""
    rows = db.execute(
        "select * from requests where session = ? and source = 'screen'"
        " order by asked_at desc limit 10",
        (session,),
    )
    return [_request(row) for row in rows]


def answered_since(db: Connection, session: SessionId, moment: datetime) -> list[Request]:
    """Return the requests of a session that were answered at or after a time."""
    rows = db.execute(
        "select * from requests where session = ? and outcome <> 'open' and answered_at >= ?",
        (session, moment.isoformat()),
    )
    return [_request(row) for row in rows]


def take_over(db: Connection, request: RequestId, call: Call, asking: Asking) -> None:
    """Turn an open request that was read from the screen into that of a hook call.

    Its id stays the same: a person may have seen it already.
    """
    db.execute(
        "update requests set source = 'hook', kind = ?, tool = ?, input = ?, questions = ?,"
        " message = ?, digest = ?, hook = ?, deadline = ?, is_spent = ?, has_dialog = ?,"
        " folder = ?, call_id = ?, subagent = ?"
        " where id = ? and outcome = 'open'",
        (
            *(call.kind, call.tool, _json(call.input)),
            json.dumps([asdict(question) for question in call.questions]),
            *(call.summary[:2_000], call.digest, asking.hook),
            asking.deadline.isoformat() if asking.deadline else None,
            *(call.is_asked, asking.has_dialog),
            *(call.folder, call.call_id, call.subagent, request),
        ),
    )


def get(db: Connection, request: RequestId) -> Request:
    if found := find(db, request):
        return found
    raise RequestUnknown(f"{request!r}. See them with:  rookery permissions")


def find(db: Connection, request: RequestId) -> Request | None:
    row = db.execute("select * from requests where id = ?", (request,)).fetchone()
    return _request(row) if row else None


def listed(db: Connection, *, limit: int, only_open: bool) -> list[Request]:
    """Return the newest requests, oldest of them first; missed ones count as open."""
    condition = "where outcome = 'open' or missed" if only_open else ""
    rows = db.execute(
        f"select * from requests {condition} order by asked_at desc limit ?", (limit,)
    ).fetchall()
    return [_request(row) for row in reversed(rows)]


def open_of(db: Connection, session: SessionId) -> list[Request]:
    """Return the open requests of a session, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and outcome = 'open' order by asked_at",
        (session,),
    )
    return [_request(row) for row in rows]


def is_asking(db: Connection, session: SessionId) -> bool:
    """Return whether a request is open, or its answer is still to be pressed."""
    return bool(open_of(db, session)) or next_press(db, session) is not None


def of_hook(db: Connection, key: str) -> Request | None:
    """Return the request of a hook call, for a call that is repeated after a restart."""
    row = db.execute("select * from requests where hook = ?", (key,)).fetchone()
    return _request(row) if row else None


def of_call(db: Connection, session: SessionId, call: Call) -> Request | None:
    """Return the open request about this call."""
    row = db.execute(
        "select * from requests where session = ? and outcome = 'open' and tool = ?"
        " and digest in (?, ?) and folder = ? and call_id = ? and subagent = ?"
        " order by asked_at limit 1",
        (
            *(session, call.tool, call.digest, f"{INEXACT}{call.digest}"),
            *(call.folder, call.call_id, call.subagent),
        ),
    ).fetchone()
    return _request(row) if row else None


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
    return _request(row) if row else None


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


def let_press(db: Connection, request: RequestId) -> None:
    """Mark an answer as due for key presses in the agent's dialog."""
    db.execute("update requests set keys = 'due' where id = ?", (request,))


def to_press(db: Connection) -> list[SessionId]:
    """Return the sessions that have an answer due for key presses in their dialogs."""
    rows = db.execute(
        "select distinct session from requests where keys = 'due' and (hook is null or handed)"
    )
    return [SessionId(row["session"]) for row in rows]


def next_press(db: Connection, session: SessionId) -> Request | None:
    row = db.execute(
        "select * from requests where session = ? and keys = 'due'"
        " and (hook is null or handed) order by asked_at limit 1",
        (session,),
    ).fetchone()
    return _request(row) if row else None


def to_carry(db: Connection, session: SessionId) -> list[Request]:
    """Return the requests whose answer their hook has not received yet, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and keys = 'due'"
        " and hook is not null and not handed order by asked_at",
        (session,),
    )
    return [_request(row) for row in rows]


def note_press(db: Connection, request: RequestId) -> None:
    db.execute("update requests set keys = 'pressed' where id = ?", (request,))


def reopen(db: Connection, request: RequestId, *, reason: str = "") -> None:
    """Undo an answer that could not be pressed: it never reached the agent."""
    db.execute(
        "update requests set outcome = 'open', keys = 'none', answered_by = '',"
        " answered_at = null, reason = ?, answers = '{}', for_session = 0, deadline = null,"
        " presses = 0, pressed_at = null where id = ? and keys = 'due'",
        (reason, request),
    )
    ungrant(db, request)


def let_go(db: Connection, request: RequestId, *, reason: str) -> None:
    """Mark an answered request as gone: its answer never reached the agent."""
    db.execute(
        "update requests set outcome = 'gone', keys = 'none', reason = ?, for_session = 0"
        " where id = ? and keys = 'due'",
        (reason, request),
    )
    ungrant(db, request)


def ungrant(db: Connection, request: RequestId) -> None:
    """Delete what an answer allowed for the rest of the session."""
    db.execute("delete from grants where request = ?", (request,))


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
        db.execute(
            f"insert into grants select session, {_GRANTED}, id from requests where id = ?"
            f" and digest not like '{INEXACT}%' on conflict do nothing",
            (request,),
        )
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


def spend(db: Connection, session: SessionId, call: Call, *, since: datetime) -> bool:
    """Use up a recent permission for this call, so that it is asked about only once."""
    if not call.is_exact:
        return False
    spent = db.execute(
        "update requests set is_spent = 1 where id = (select id from requests"
        " where session = ? and digest = ? and folder = ? and outcome = 'allowed'"
        " and not is_spent and answered_at >= ? limit 1)",
        (session, call.digest, call.folder, since.isoformat()),
    )
    return spent.rowcount > 0


def is_granted(db: Connection, session: SessionId, call: Call) -> bool:
    """Return whether this call was allowed for the rest of the session."""
    return call.is_exact and bool(
        db.execute(
            "select 1 from grants where session = ? and digest = ?",
            (session, f"{call.digest} {call.folder}"),
        ).fetchone()
    )


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


def keep(db: Connection, decided: Decided) -> None:
    """Add a decision to the audit, which is kept for ever or as long as entries are."""
    row = asdict(decided) | {"at": decided.at.isoformat(), "input": _json(decided.input)}
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


def _request(row: Row) -> Request:
    given = json.loads(row["input"])
    return Request(
        id=RequestId(row["id"]),
        session=SessionId(row["session"]),
        kind=row["kind"],
        tool=row["tool"],
        input=given,
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
        folder=next(iter(working_folders(given, row["folder"])), ""),
    )


def _question(found: Mapping[str, Any]) -> Question:
    options, described = tuple(found["options"]), tuple(found.get("descriptions", ()))
    return Question(found["text"], options, found["takes_several"], described)


def _json(given: Mapping[str, Any]) -> str:
    whole = json.dumps(dict(given), ensure_ascii=False)
    if len(whole) <= MAX_INPUT_CHARACTERS:
        return whole
    cut = {
        name: shortened(str(value), MAX_INPUT_CHARACTERS // 10) for name, value in given.items()
    }
    return json.dumps(cut)
