"""The session that a hook call comes from, with all that is asked of it, in one query."""

from __future__ import annotations

from sqlite3 import Connection, Row
from typing import NamedTuple

from rookery.model.errors import SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Status
from rookery.model.sessions import Badge, Sender
from rookery.store.sessions import LIVE
from rookery.store.tokens import IS_BADGE, digest


class Sending(NamedTuple):
    """What is known of a session whose hook calls; read for every call, so it is little."""

    session: SessionId
    is_live: bool
    status: str
    runtime: str
    process: str | None  #: that it is, while it lives and that is known
    badge: str | None  #: the digest of its badge, if it was given one
    model: str
    has_transcript: bool  #: it is known where that is

    @property
    def is_starting(self) -> bool:
        return self.status == Status.STARTING

    def is_worn(self, badge: Badge | None) -> bool:
        """Whether this is the badge of the session."""
        return badge is not None and self.badge == digest(badge)


_SENDING = (
    f"select id, {LIVE} as is_live, status, runtime, iif({LIVE}, process, null),"
    f" (select digest from tokens where session = sessions.id and {IS_BADGE}),"
    " model, transcript_path <> '' from sessions"
)


def known(db: Connection, sender: Sender) -> Sending | None:
    """Find the session that has the sender's native id, as ``sessions.known`` does."""
    row = db.execute(
        f"{_SENDING} where agent = ? and native_id = ?"
        " order by is_live desc, since desc limit 1",
        (sender.agent, sender.native_id),
    ).fetchone()
    if row is None or (sender.is_new and not row["is_live"]):
        return None
    return _sending(row)


def get(db: Connection, session: SessionId) -> Sending:
    row = db.execute(f"{_SENDING} where id = ?", (session,)).fetchone()
    if row is None:
        raise SessionUnknown(session)
    return _sending(row)


def _sending(row: Row) -> Sending:
    session, is_live, status, runtime, process, badge, model, has_transcript = row
    return Sending(
        SessionId(session),
        bool(is_live),
        *(status, runtime, process, badge, model),
        bool(has_transcript),
    )
