"""Store sessions: rows to model objects and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from operator import attrgetter
from sqlite3 import Connection, Row
from typing import Any

import msgspec

from rookery.model.errors import SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.sessions import HEADLESS, OBSERVED, Session
from rookery.ports.runtime import HeldProgram, RuntimeHandle
from rookery.ports.terminal import TerminalAddress
from rookery.store import relays, session_days

#: The fields of a session: each is a column. ``asdict`` would copy every value.
_COLUMNS = tuple(each.name for each in fields(Session) if each.name != "workspace")
_TIMES = (
    *("since", "created_at", "started_at", "last_activity_at", "ended_at"),
    *("tool_at", "tool_ended_at", "seen_at"),
)

#: Queries for live sessions must use exactly this condition, or SQLite ignores their indexes.
LIVE = "status in ('starting', 'running', 'closing')"

#: Whether another session continues the conversation; a branch of it does not.
IS_RESUMED = (
    "exists (select 1 from sessions as later where later.continues = sessions.id"
    " and later.launch ->> '$.forks' is null)"
)


def add(
    db: Connection,
    session: Session,
    *,
    launch: Mapping[str, Any] | None = None,
) -> None:
    """Add a session that is about to start, or was discovered."""
    row: dict[str, Any] = {each: getattr(session, each) for each in _COLUMNS}
    for name in _TIMES:
        row[name] = row[name].isoformat() if row[name] else None
    row["tags"] = " ".join(session.tags)
    row["launch"] = json.dumps(dict(launch or {}))
    if session.workspace:
        row["workspace"] = json.dumps(asdict(session.workspace))
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    db.execute(f"insert into sessions ({names}) values ({marks})", row)
    session_days.add_session(db, session)
    relays.give_up_aliases(db, session.id, session.name)


def get(db: Connection, session: SessionId) -> Session:
    row = db.execute("select * from sessions where id = ?", (session,)).fetchone()
    if row is None:
        raise SessionUnknown(session)
    return read_session(row)


def listed(db: Connection, *, ended_after: datetime, limit: int = 10_000) -> list[Session]:
    """Return the live sessions, and sessions that ended after a time, oldest first."""
    # Two queries, sorted here: SQLite would copy thousands of whole rows to sort them.
    over = db.execute(
        "select * from sessions where ended_at > ? order by ended_at desc limit ?",
        (ended_after.isoformat(), limit),
    )
    selected = [*live(db), *map(read_session, over)]
    return sorted(selected, key=attrgetter("created_at", "id"))


def of_ids(db: Connection, ids: Collection[str]) -> list[Session]:
    """Return the sessions with these ids, oldest first."""
    rows = db.execute(
        "select * from sessions where id in (select value from json_each(?))"
        " order by created_at, id",
        (json.dumps([*ids]),),
    )
    return [read_session(row) for row in rows]


def live(db: Connection) -> list[Session]:
    rows = db.execute(
        f"select * from sessions indexed by sessions_live where {LIVE} order by created_at"
    )
    return [read_session(row) for row in rows]


def with_processes(db: Connection) -> list[Session]:
    """Return the live sessions whose processes are known."""
    rows = db.execute(f"select * from sessions where {LIVE} and process is not null")
    return [read_session(row) for row in rows]


def count_live(db: Connection, runtime: str) -> int:
    """Count the live sessions of a runtime."""
    query = f"select count(*) from sessions where {LIVE} and runtime = ?"
    return int(db.execute(query, (runtime,)).fetchone()[0])


def names_of_others(db: Connection, session: SessionId) -> list[str]:
    """Return the names of all live sessions except this one."""
    rows = db.execute(f"select name from sessions where {LIVE} and id <> ?", (session,))
    return [row["name"] for row in rows]


def program_names(db: Connection) -> set[str]:
    """Return the names, current and former, under which Rookery's own server held programs."""
    rows = db.execute(
        "select tmux_session from sessions"
        " where tmux_session is not null and tmux_server is null"
    )
    return {row["tmux_session"] for row in rows}


def record_held(db: Connection, session: SessionId, program: HeldProgram) -> None:
    """Store the handle of a session's program, and the address of its terminal."""
    db.execute("update sessions set handle = ? where id = ?", (program.handle.text, session))
    if program.address:
        set_address(db, session, program.address)


def set_address(db: Connection, session: SessionId, address: TerminalAddress) -> None:
    """Store where a person finds the terminal of a session, as it is shown."""
    db.execute(
        "update sessions set tmux_session = :tmux_session, tmux_pane = :tmux_pane,"
        " tmux_server = :tmux_server where id = :session",
        {"session": session, **asdict(address)},
    )


def handle_of(db: Connection, session: SessionId) -> RuntimeHandle | None:
    """Return the handle of a session's program; none before it has been started."""
    row = db.execute("select handle from sessions where id = ?", (session,)).fetchone()
    return RuntimeHandle.read(row["handle"]) if row and row["handle"] else None


def hold(db: Connection, session: SessionId) -> None:
    """Record that a runtime is about to hold resources of this session."""
    db.execute("update sessions set is_held = 1 where id = ?", (session,))


def inactive(db: Connection, *, since: datetime) -> list[Session]:
    """Return the live sessions without activity since a time."""
    rows = db.execute(
        f"select * from sessions where {LIVE} and last_activity_at < ?", (since.isoformat(),)
    )
    return [read_session(row) for row in rows]


def only_started(db: Connection, *, since: datetime) -> list[Session]:
    """Return the live headless sessions of unknown processes that reported only their start.

    Sessions with activity since a time are excluded.
    """
    rows = db.execute(
        f"select * from sessions where {LIVE} and runtime = ? and process is null"
        " and last_activity_at < ? and tool_count = 0"
        " and (activity = 'idle' or activity is null)"
        " and not exists (select 1 from turns where session = sessions.id)",
        (HEADLESS, since.isoformat()),
    )
    return [read_session(row) for row in rows]


def let_go(db: Connection, session: SessionId) -> None:
    """Record that no runtime holds resources of this session any more."""
    db.execute("update sessions set is_held = 0 where id = ?", (session,))


def left_over(db: Connection) -> list[Session]:
    """Return the sessions that are over and of which a runtime may still hold resources."""
    rows = db.execute(
        "select * from sessions where is_held and status in ('completed', 'failed', 'killed')"
    )
    return [read_session(row) for row in rows]


def places(db: Connection) -> list[Row]:
    """Return the project folder of each session, in the order of the latest activity."""
    return db.execute(
        f"select id, project_path as path, last_activity_at as at, {LIVE} as live"
        " from sessions where project_path <> '' order by at desc"
    ).fetchall()


def needing_supervision(db: Connection) -> list[SessionId]:
    """Return the sessions that have to be started, ended or cleaned up."""
    rows = db.execute(
        f"select id from sessions indexed by sessions_live where {LIVE}"
        " and status in ('starting', 'closing')"
        " and not (status = 'starting' and exists (select 1 from workspaces"
        " where session = sessions.id and state = 'requested'))"
        " and (runtime not in (?, ?) or (runtime = ? and status = 'closing')) union"
        " select id from sessions"
        " where is_held and status in ('completed', 'failed', 'killed')",
        (OBSERVED, HEADLESS, OBSERVED),
    )
    return [SessionId(row["id"]) for row in rows]


def has_id_like(db: Connection, beginning: str) -> bool:
    """Return whether a session's id has this prefix."""
    query = "select 1 from sessions where id >= ? and id < ? || 'z'"
    return db.execute(query, (beginning, beginning)).fetchone() is not None


def has_runtime(db: Connection, session: SessionId) -> bool:
    row = db.execute("select is_held from sessions where id = ?", (session,)).fetchone()
    return bool(row and row["is_held"])


def of_one_turn(db: Connection) -> set[SessionId]:
    """Return the driven sessions that end after their first turn."""
    rows = db.execute(
        "select id from sessions where json_extract(launch, '$.driving.single_turn')"
    )
    return {SessionId(row["id"]) for row in rows}


def has_one_turn(db: Connection, session: SessionId) -> bool:
    """Return whether a driven session ends after its first turn."""
    query = (
        "select 1 from sessions where id = ? and json_extract(launch, '$.driving.single_turn')"
    )
    return db.execute(query, (session,)).fetchone() is not None


def launch_of(db: Connection, session: SessionId) -> dict[str, Any]:
    """Return the parameters with which the start of a session was requested."""
    row = db.execute("select launch from sessions where id = ?", (session,)).fetchone()
    return dict(json.loads(row["launch"]))


def await_tools(db: Connection, session: SessionId) -> None:
    """Record that the first message waits until the agent has listed Rookery's tools."""
    db.execute("update sessions set awaits_tools = 1 where id = ?", (session,))


def awaits_tools(db: Connection, session: SessionId) -> bool:
    """Return whether an agent must list Rookery's tools before it gets a message."""
    query = "select awaits_tools from sessions where id = ?"
    row = db.execute(query, (session,)).fetchone()
    return bool(row and row["awaits_tools"])


def meet_tools(db: Connection, session: SessionId) -> None:
    """Record that an agent has listed Rookery's tools."""
    db.execute("update sessions set awaits_tools = 0 where id = ?", (session,))


def learn_transcript(db: Connection, session: SessionId, path: str) -> None:
    """Store the transcript's path, if it is not known: the session's start may be missed."""
    db.execute(
        "update sessions set transcript_path = ? where id = ? and transcript_path = ''",
        (path, session),
    )


def is_known(db: Connection, session: str) -> bool:
    """Return whether there is a session with this id, live or over."""
    row = db.execute("select 1 from sessions where id = ?", (session,)).fetchone()
    return row is not None


def is_live(db: Connection, session: SessionId) -> bool:
    """Return whether a session is live; a deleted one is not."""
    row = db.execute(f"select 1 from sessions where id = ? and {LIVE}", (session,)).fetchone()
    return row is not None


def read_session(row: Row) -> Session:
    """Convert a row with all columns. Hand-written code would take three times as long."""
    return msgspec.convert(session_values(row), Session)


def session_values(row: Row) -> dict[str, Any]:
    """Return the values of a row as the fields of a session have them."""
    values = dict(zip(row.keys(), row, strict=True))
    values["native_id"] = values["native_id"] or None
    values["tags"] = values["tags"].split()
    values["hidden"], values["lost"] = bool(values["hidden"]), bool(values["lost"])
    if values.get("workspace"):
        values["workspace"] = json.loads(values["workspace"])
    return values
