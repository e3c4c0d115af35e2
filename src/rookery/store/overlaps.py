"""Store which files sessions have changed, and which files two of them have changed."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.overlaps import FileInRepository, Overlap
from rookery.store.sessions import LIVE
from rookery.store.timestamps import stamp

#: Maximum files that a note names for each other session; the rest is counted.
MAX_NAMED_FILES = 1


def note_edit(
    db: Connection, session: SessionId, file: FileInRepository, *, at: datetime
) -> list[SessionId]:
    """Store that a session has changed a file; return the live sessions that changed it, too.

    Each pair of sessions is reported once for each file.
    """
    key = (file.repository, file.path)
    db.execute(
        "insert into edits values (?, ?, ?, ?) on conflict do nothing",
        (session, *key, stamp(at)),
    )
    others = db.execute(
        "select edits.session from edits join sessions on sessions.id = edits.session"
        f" where repository = ? and path = ? and edits.session <> ? and {LIVE}"
        " order by edits.at",
        (*key, session),
    ).fetchall()
    return [
        SessionId(row["session"])
        for row in others
        if _add(db, session, SessionId(row["session"]), file, at)
    ]


def _add(
    db: Connection, one: SessionId, two: SessionId, file: FileInRepository, at: datetime
) -> bool:
    pair = sorted((one, two))
    added = db.execute(
        "insert into overlaps values (?, ?, ?, ?, ?) on conflict do nothing",
        (*pair, file.repository, file.path, stamp(at)),
    )
    return added.rowcount > 0


def forget_edits(db: Connection, session: SessionId) -> None:
    """Forget which files a session has changed: only live sessions overlap."""
    db.execute("delete from edits where session = ?", (session,))


def live(db: Connection) -> list[Overlap]:
    """Return the overlaps of live sessions, oldest first."""
    rows = db.execute(
        "select overlaps.session, other, path from overlaps"
        " join sessions one on one.id = overlaps.session"
        " join sessions two on two.id = overlaps.other"
        " where one.ended_at is null and two.ended_at is null order by overlaps.at"
    )
    return [Overlap(SessionId(row[0]), SessionId(row[1]), row[2]) for row in rows]


def notes(db: Connection) -> dict[SessionId, str]:
    """Return, by session, a note that names the live sessions that changed the same files."""
    rows = live(db)
    if not rows:
        return {}
    ids = {each.session for each in rows} | {each.other for each in rows}
    marks = ", ".join("?" * len(ids))
    found = db.execute(f"select id, name from sessions where id in ({marks})", (*ids,))
    names = {row["id"]: row["name"] for row in found}
    by_session: defaultdict[SessionId, dict[str, list[str]]] = defaultdict(dict)
    for each in rows:
        for one, two in ((each.session, each.other), (each.other, each.session)):
            by_session[one].setdefault(names[two], []).append(each.path)
    return {session: _note(others) for session, others in by_session.items()}


def _note(others: dict[str, list[str]]) -> str:
    texts = []
    for name, paths in others.items():
        more = len(paths) - MAX_NAMED_FILES
        files = ", ".join(paths[:MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
        texts.append(f"{name} also changed {files}")
    return "; ".join(texts)
