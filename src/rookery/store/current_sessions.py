"""Read sessions with their last turns and open requests, for lists and details."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from operator import attrgetter
from sqlite3 import Connection, Row

import msgspec

from rookery.model.current_sessions import CurrentSession
from rookery.model.errors import SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.money import in_dollars
from rookery.model.permissions import DIALOG, Call
from rookery.model.tool_inputs import telling
from rookery.store.sessions import IS_RESUMED, LIVE, session_values

#: The prompt of the last turn of the session whose conversation this one continues, if the end
#: of that session ended it. Of no interest any more once this session has had a turn.
_CUT_OFF = """
case when last.started_by is null and sessions.continues is not null
 and sessions.launch ->> '$.forks' is null then (
 select cut.prompt from turns as cut
 join sessions as former on former.id = cut.session where cut.session = sessions.continues
 and cut.how = 'failed' and cut.answer = '' and cut.ended_at >= former.ended_at
 order by cut.started_by desc limit 1) end"""

_WITH_TURNS = f"""
select sessions.*, last.started_by as last_turn,
 last.prompt as last_prompt, last.started_at as last_prompt_at,
 ended.answer as last_answer, ended.ended_at as last_answer_at, ended.how as last_outcome,
 ended.answer <> '' and ended.ended_at > coalesce(seen_at, '') as is_unread,
 {IS_RESUMED} as is_resumed, {_CUT_OFF} as cut_off
 from sessions {{index}} left join turns as last on last.session = sessions.id
 and last.started_by = (select max(started_by) from turns where session = sessions.id)
 left join turns as ended on ended.session = sessions.id and ended.started_by = (
 select started_by from turns where session = sessions.id and ended_at is not null
 order by started_by desc limit 1) where {{which}}"""

#: Thousands of sessions may have ended long ago, and their last turns are rarely wanted.
_LONG_AGO = f"""
select sessions.*,
 {IS_RESUMED} as is_resumed
 from sessions where sessions.ended_at > ? and sessions.ended_at <= ?"""

_LIVE = _WITH_TURNS.format(index="indexed by sessions_live", which=LIVE)
_ENDED = _WITH_TURNS.format(index="", which="sessions.ended_at > ?")
_OF_IDS = _WITH_TURNS.format(index="", which="sessions.id in (select value from json_each(?))")


def listed(
    db: Connection,
    *,
    ended_after: datetime,
    recently: datetime,
    branches: Mapping[str, str],
    limit: int = 10_000,
) -> list[CurrentSession]:
    """Return the live sessions, and sessions that ended after a time, oldest first.

    Sessions that ended before ``recently`` come without their last turns. ``branches`` are the
    Git branches by project folder.
    """
    requests = _open_requests(db)
    after, recent = ended_after.isoformat(), recently.isoformat()
    order = "order by sessions.ended_at desc limit ?"
    rows = [*db.execute(_LIVE), *db.execute(f"{_ENDED} {order}", (max(after, recent), limit))]
    rows += db.execute(f"{_LONG_AGO} {order}", (after, recent, limit))
    views = [_read(row, requests, branches) for row in rows]
    return sorted(views, key=attrgetter("created_at", "id"))


def of_ids(
    db: Connection, ids: Collection[str], *, branches: Mapping[str, str]
) -> list[CurrentSession]:
    """Return the sessions with these ids, oldest first."""
    requests = _open_requests(db)
    rows = db.execute(
        f"{_OF_IDS} order by sessions.created_at, sessions.id", (json.dumps([*ids]),)
    )
    return [_read(row, requests, branches) for row in rows]


def get(db: Connection, session: SessionId, *, branches: Mapping[str, str]) -> CurrentSession:
    found = of_ids(db, [session], branches=branches)
    if not found:
        raise SessionUnknown(session)
    return found[0]


def live_folders(db: Connection) -> list[str]:
    """Return the project folders of the live sessions."""
    rows = db.execute(
        f"select distinct project_path from sessions indexed by sessions_live where {LIVE}"
        " and project_path <> ''"
    )
    return [row["project_path"] for row in rows]


def mark_seen(db: Connection, session: SessionId, *, until: datetime) -> None:
    """Record that a person has seen the answers until a time; never moves backwards."""
    db.execute(
        "update sessions set seen_at = max(coalesce(seen_at, ''), ?) where id = ?",
        (until.isoformat(), session),
    )


def mark_turn_seen(db: Connection, session: SessionId, *, turn: int) -> None:
    """Record that a person has seen the answer of the turn with this number, if it has one."""
    db.execute(
        "update sessions set seen_at = max(coalesce(seen_at, ''), turn.ended_at) from"
        " (select ended_at from turns where session = ?1 and started_by = ?2) as turn"
        " where id = ?1 and turn.ended_at is not null",
        (session, turn),
    )


def _open_requests(db: Connection) -> dict[str, Row]:
    """Return the oldest open request of each session."""
    rows = db.execute(
        "select session, tool, input, folder from requests indexed by requests_open"
        " where outcome = 'open' and kind = 'permission' order by asked_at desc"
    )
    return {row["session"]: row for row in rows}


def _read(row: Row, requests: Mapping[str, Row], branches: Mapping[str, str]) -> CurrentSession:
    values = session_values(row)
    values["is_resumed"] = bool(values["is_resumed"])
    if "last_turn" in values:
        values["last_turn"] = values["last_turn"] or 0
        values["last_outcome"] = values["last_outcome"] or ""
        values["last_prompt"] = _first_line(values["last_prompt"] or "")
        values["last_answer"] = _first_line(values["last_answer"] or "")
        values["cut_off"] = _first_line(values["cut_off"] or "")
        values["is_unread"] = bool(values["is_unread"])
    if values["ended_at"] is None:
        values["branch"] = branches.get(values["project_path"], "")
    values["estimated_cost_usd"] = in_dollars(values["estimated_cost"])
    for each in ("cost", "budget"):
        if values[each] is not None:
            values[f"{each}_usd"] = in_dollars(values[each])
    if request := requests.get(values["id"]):
        values |= _asked(request, values["project_path"])
    return msgspec.convert(values, CurrentSession)


def _asked(request: Row, project: str) -> dict[str, str]:
    if request["tool"] == DIALOG:  # only the text of its screen is known
        return {}
    call = Call(request["tool"], json.loads(request["input"]), folder=request["folder"])
    elsewhere = call.seen_from(project).elsewhere
    argument = call.plan or telling(call.input, call.tool)
    return {"asked_tool": call.tool, "asked_argument": argument, "asked_folder": elsewhere}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()
