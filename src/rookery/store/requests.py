"""Calls that a person is asked about, and all decisions: rows to model and back."""

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

#: Characters kept of a call's input; its agent's transcript has the rest.
LONGEST = 64_000

#: Decisions of all sessions among which the latest of one are looked for.
RECENT_DECISIONS = 500

#: What is granted: a call, in the folder that it was made in.
_GRANTED = "digest || ' ' || folder"


@dataclass(frozen=True, slots=True)
class Asking:
    """How somebody is asked about a call."""

    at: datetime
    deadline: datetime | None  #: none if the agent asks in its own terminal
    hook: str | None  #: the key of the hook call that waits for the answer
    source: Source = "hook"
    has_dialog: bool = True  #: its agent can ask the same in its own terminal


def add(db: Connection, session: SessionId, call: Call, asking: Asking) -> RequestId:
    """Write down that a person is asked."""
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
            # Only an answer to what it was about to do is still good when it then asks.
            *(asking.at.isoformat(), deadline, call.is_asked, asking.has_dialog),
            *(call.folder, call.call_id, call.subagent),
        ),
    )
    return request


def seen_on_screen(db: Connection, session: SessionId) -> list[Request]:
    """Return the latest requests of a session that were read off its screen, newest first."""
    rows = db.execute(
        "select * from requests where session = ? and source = 'screen'"
        " order by asked_at desc limit 10",
        (session,),
    )
    return [_request(row) for row in rows]


def answered_since(db: Connection, session: SessionId, moment: datetime) -> list[Request]:
    """Return the requests of a session that were answered at or after a moment."""
    rows = db.execute(
        "select * from requests where session = ? and outcome <> 'open' and answered_at >= ?",
        (session, moment.isoformat()),
    )
    return [_request(row) for row in rows]


def take_over(db: Connection, request: RequestId, call: Call, asking: Asking) -> None:
    """Make an open request that was read off a screen that of the hook which tells of it.

    Its id stays: a person may have read it already.
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
    """Return the newest, oldest of them first; with the open those that were missed."""
    condition = "where outcome = 'open' or missed" if only_open else ""
    rows = db.execute(
        f"select * from requests {condition} order by asked_at desc limit ?", (limit,)
    ).fetchall()
    return [_request(row) for row in reversed(rows)]


def open_of(db: Connection, session: SessionId) -> list[Request]:
    """Return what is asked about a session now, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and outcome = 'open' order by asked_at",
        (session,),
    )
    return [_request(row) for row in rows]


def is_asking(db: Connection, session: SessionId) -> bool:
    """Whether something is asked, or answered and not yet heard by its agent."""
    return bool(open_of(db, session)) or next_press(db, session) is not None


def of_hook(db: Connection, key: str) -> Request | None:
    """Find what a hook call asked, if it comes again after a restart."""
    row = db.execute("select * from requests where hook = ?", (key,)).fetchone()
    return _request(row) if row else None


def of_call(db: Connection, session: SessionId, call: Call) -> Request | None:
    """Find the open request about this very call."""
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


#: The requests that may be about a call that has run: those with the agent's own id of it, else
#: those with the same input. A call whose hook still waits before the tool cannot have run.
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
    """Find the open request about a call that has run, if there is one."""
    row = db.execute(
        f"select * from requests where {_OF_USE} and outcome = 'open'"
        " order by call_id = '', asked_at limit 1",
        _use(used),
    ).fetchone()
    return _request(row) if row else None


def ended_in_terminal(db: Connection, used: ToolUsed, *, since: datetime) -> RequestId | None:
    """Find the latest request about a call that has run which ended in the terminal."""
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
    """Note that an answer is to be pressed in its agent's dialog."""
    db.execute("update requests set keys = 'due' where id = ?", (request,))


def to_press(db: Connection) -> list[SessionId]:
    """Name the sessions in whose dialogs an answer is to be pressed."""
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
    """Return what was answered and is still to be told to its hook, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and keys = 'due'"
        " and hook is not null and not handed order by asked_at",
        (session,),
    )
    return [_request(row) for row in rows]


def note_press(db: Connection, request: RequestId) -> None:
    db.execute("update requests set keys = 'pressed' where id = ?", (request,))


def reopen(db: Connection, request: RequestId, *, reason: str = "") -> None:
    """Take back an answer that could not be pressed: it never reached its agent."""
    db.execute(
        "update requests set outcome = 'open', keys = 'none', answered_by = '',"
        " answered_at = null, reason = ?, answers = '{}', for_session = 0, deadline = null,"
        " presses = 0, pressed_at = null where id = ? and keys = 'due'",
        (reason, request),
    )
    ungrant(db, request)


def let_go(db: Connection, request: RequestId, *, reason: str) -> None:
    """Settle as gone what was answered, but whose answer never reached its agent."""
    db.execute(
        "update requests set outcome = 'gone', keys = 'none', reason = ?, for_session = 0"
        " where id = ? and keys = 'due'",
        (reason, request),
    )
    ungrant(db, request)


def ungrant(db: Connection, request: RequestId) -> None:
    """Forget what an answer allowed for the rest of its session."""
    db.execute("delete from grants where request = ?", (request,))


def settle(db: Connection, request: RequestId, verdict: Verdict, *, at: datetime) -> bool:
    """Write down an answer. False if there is one already: the first is the one."""
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
    """Return what was answered, once it was."""
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
    """Use up that somebody has just allowed this very call, if so: it is asked about once."""
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
    """Whether somebody has allowed this very call for the rest of the session."""
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
    folder: str = ""  #: that the call works in; empty if it is not known


def keep(db: Connection, decided: Decided) -> None:
    """Write a decision down for ever, or as long as entries are kept."""
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
    """Return what was decided about a session at or after a moment not long ago."""
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
    if len(whole) <= LONGEST:
        return whole
    cut = {name: shortened(str(value), LONGEST // 10) for name, value in given.items()}
    return json.dumps(cut)
