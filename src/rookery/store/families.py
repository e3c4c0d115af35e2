"""Who belongs to whom: sessions that started sessions."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.store import relays

_ANCESTORS = """
    with recursive up (id, depth) as (
        select parent, 1 from sessions where id = :session and parent is not null
        union all
        select sessions.parent, depth + 1 from up join sessions on sessions.id = up.id
            where sessions.parent is not null and depth < 100)
    select id from up
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


def ancestors(db: Connection, session: SessionId) -> set[SessionId]:
    return _ids(db, _ANCESTORS, session)


def descendants(db: Connection, session: SessionId) -> set[SessionId]:
    return _ids(db, _DESCENDANTS, session)


def family(db: Connection, session: SessionId) -> set[SessionId]:
    """Return a session itself, its ancestors, siblings and descendants."""
    siblings = _ids(db, _SIBLINGS, session)
    return {session} | ancestors(db, session) | siblings | descendants(db, session)


def trust_all(db: Connection, *, on: bool) -> None:
    """Keep whether every session may read every other, where nothing but the store is known."""
    db.execute(
        "insert into switches values ('trust', ?)"
        " on conflict do update set value = excluded.value",
        ("all" if on else "family",),
    )


def may_read(db: Connection, reader: SessionId, other: SessionId) -> bool:
    """Whether one session may read another: of its family, or while the two talk in a relay."""
    row = db.execute("select value from switches where name = 'trust'").fetchone()
    if row is not None and row["value"] == "all":
        return True
    return other in family(db, reader) or other in relays.peers(db, reader)


def count_started(db: Connection, parent: SessionId, *, since: datetime) -> int:
    """Count the sessions that a session has started since then."""
    query = "select count(*) from sessions where parent = ? and created_at > ?"
    return int(db.execute(query, (parent, since.isoformat())).fetchone()[0])


def _ids(db: Connection, question: str, session: SessionId) -> set[SessionId]:
    return {SessionId(row["id"]) for row in db.execute(question, {"session": session})}
