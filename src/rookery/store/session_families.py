"""Session families: which session started which."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.rules import Circumstances
from rookery.model.sessions import Session, traits_of
from rookery.store import relays
from rookery.store.sessions import LIVE

_ANCESTORS = """
    with recursive up (id, depth) as (
        select parent, 1 from sessions where id = :session and parent is not null
        union all
        select sessions.parent, depth + 1 from up join sessions on sessions.id = up.id
            where sessions.parent is not null and depth < 100)
    select id from up
"""

#: A resumed conversation keeps the ancestors of its previous session.
_LINEAGE = """
    with recursive up (id, is_parent) as (
        values (:parent, 1), (:continues, 0)
        union
        select parent, 1 from up join sessions using (id) where parent is not null
        union
        select continues, 0 from up join sessions using (id) where continues is not null)
    select agent, project_path, name, runtime from up join sessions using (id) where is_parent
"""

#: Whether a session, or one whose conversation it resumes, has started the other one or is
#: continued by it, directly or indirectly.
_IS_ABOVE = """
    with recursive
    up (id) as (
        values (:session)
        union
        select parent from up join sessions using (id) where parent is not null
        union
        select continues from up join sessions using (id) where continues is not null),
    resumed (id) as (
        values (:above)
        union
        select continues from resumed join sessions using (id)
            where continues is not null and launch ->> '$.forks' is null)
    select 1 from up join resumed using (id) limit 1
"""

#: Which agents have started live sessions of which agents, directly or indirectly.
_AGENTS_ABOVE = f"""
    with recursive up (agent, id, is_parent) as (
        select agent, parent, 1 from sessions where parent is not null and {LIVE}
        union
        select agent, continues, 0 from sessions where continues is not null and {LIVE}
        union
        select up.agent, parent, 1 from up join sessions using (id)
        union
        select up.agent, continues, 0 from up join sessions using (id))
    select distinct up.agent as agent, sessions.agent as above
        from up join sessions using (id) where is_parent
"""

_DESCENDANTS = """
    with recursive down (id, depth) as (
        select id, 1 from sessions where parent = :session
        union all
        select sessions.id, depth + 1 from down join sessions on sessions.parent = down.id
            where depth < 100)
    select id from down
"""

_SIBLINGS = """
    select id from sessions where id <> :session and parent is not null
        and parent = (select parent from sessions where id = :session)
"""


@dataclass(frozen=True, slots=True)
class Relative:
    """A session that started, was started by, or continues another one."""

    id: SessionId
    name: str
    status: str


def ancestors(db: Connection, session: SessionId) -> set[SessionId]:
    return _ids(db, _ANCESTORS, session)


def may_answer(db: Connection, session: SessionId, asking: SessionId) -> bool:
    """Return whether a session may answer a question of another, if it is notified of it.

    It answers neither its own questions nor those of its ancestors, before or after one of them
    was resumed or forked. A session that it has started is always its to answer.
    """
    if asking in descendants(db, session):
        return True
    ids = {"session": session, "above": asking}
    return db.execute(_IS_ABOVE, ids).fetchone() is None


def circumstances(db: Connection, session: Session) -> Circumstances:
    """Return what rules need of a caller: the session, and the sessions that started it."""
    is_named = session.is_ours
    own_circumstances = Circumstances(
        session.agent, session.project_path, session.name, is_named=is_named
    )
    if session.parent is None and session.continues is None:
        return own_circumstances
    rows = db.execute(_LINEAGE, {"parent": session.parent, "continues": session.continues})
    above = (
        Circumstances(agent, project, name, is_named=traits_of(runtime).is_ours)
        for agent, project, name, runtime in rows
    )
    return replace(own_circumstances, ancestors=tuple(above))


def agents_above(db: Connection) -> dict[str, set[str]]:
    """Return, for each agent, the agents that have started live sessions of it."""
    above: dict[str, set[str]] = {}
    for agent, starter in db.execute(_AGENTS_ABOVE):
        above.setdefault(agent, set()).add(starter)
    return above


def descendants(db: Connection, session: SessionId) -> set[SessionId]:
    return _ids(db, _DESCENDANTS, session)


def family(db: Connection, session: SessionId) -> set[SessionId]:
    """Return a session itself, its ancestors, siblings and descendants."""
    siblings = _ids(db, _SIBLINGS, session)
    return {session} | ancestors(db, session) | siblings | descendants(db, session)


def children(db: Connection, session: SessionId) -> set[SessionId]:
    """Return the sessions that a session has started itself."""
    return _ids(db, "select id from sessions where parent = :session", session)


def continuing(db: Connection, session: SessionId) -> set[SessionId]:
    """Return the sessions that continue a session's conversation."""
    return _ids(db, "select id from sessions where continues = :session", session)


def successor(db: Connection, session: SessionId) -> SessionId | None:
    """Return the live session in which an ended session was resumed; none if there is none."""
    row = db.execute(
        "with recursive later (id) as (values (:session) union"
        " select sessions.id from sessions join later on sessions.continues = later.id"
        " where sessions.launch ->> '$.resumes')"
        f" select id from sessions join later using (id) where {LIVE}"
        " order by created_at desc limit 1",
        {"session": session},
    ).fetchone()
    return SessionId(row["id"]) if row else None


def relatives(db: Connection, ids: Collection[SessionId]) -> list[Relative]:
    """Return the sessions with these ids by name and status, oldest first."""
    rows = db.execute(
        "select id, name, status from sessions where id in (select value from json_each(?))"
        " order by created_at, id",
        (json.dumps([*ids]),),
    )
    return [Relative(SessionId(row["id"]), row["name"], row["status"]) for row in rows]


def trust_all(db: Connection, *, on: bool) -> None:
    """Store whether all sessions may read each other, for code that knows only the store."""
    db.execute(
        "insert into switches values ('trust', ?)"
        " on conflict do update set value = excluded.value",
        ("all" if on else "family",),
    )


def may_read(db: Connection, reader: SessionId, other: SessionId) -> bool:
    """Return whether a session may read another: in its family, or a current relay peer."""
    row = db.execute("select value from switches where name = 'trust'").fetchone()
    if row is not None and row["value"] == "all":
        return True
    return other in family(db, reader) or other in relays.peers(db, reader)


def count_started(db: Connection, parent: SessionId, *, since: datetime) -> int:
    """Count the sessions that a session has started since a time."""
    query = "select count(*) from sessions where parent = ? and created_at > ?"
    return int(db.execute(query, (parent, since.isoformat())).fetchone()[0])


def _ids(db: Connection, question: str, session: SessionId) -> set[SessionId]:
    return {SessionId(row["id"]) for row in db.execute(question, {"session": session})}
