"""Find the session of a hook call, with all the fields that are needed, in one query."""

from __future__ import annotations

from sqlite3 import Connection
from typing import NamedTuple

from rookery.model.errors import SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.lifecycle import OVER, Status
from rookery.model.sessions import Badge, Sender, traits_of
from rookery.store.sessions import LIVE
from rookery.store.tokens import IS_BADGE, digest


class Sending(NamedTuple):
    """The fields of a session that a hook call needs; few, as every call reads them."""

    session: SessionId
    status: str
    runtime: str
    last_process: str | None  #: its current or former process, if known
    badge: str | None  #: the digest of its badge, if it has one
    model: str
    transcript: str  #: its path; empty if unknown
    present_mode: str  #: the permission mode that it reported last; empty if none
    has_open_requests: int

    @property
    def is_live(self) -> bool:
        return self.status not in OVER

    @property
    def process(self) -> str | None:
        """Return its process, if it is live and the process is known."""
        return self.last_process if self.is_live else None

    @property
    def has_terminal(self) -> bool:
        return traits_of(self.runtime).has_terminal

    @property
    def is_driven(self) -> bool:
        return traits_of(self.runtime).is_driven

    @property
    def is_starting(self) -> bool:
        return self.status == Status.STARTING

    def has_badge(self, badge: Badge | None) -> bool:
        """Return whether this is the badge of the session."""
        return badge is not None and self.badge == digest(badge)


#: ``is_live`` is computed from the status: as a column it would double the query's time.
_SENDING = (
    "select id, status, runtime, process,"
    f" (select digest from tokens where session = sessions.id and {IS_BADGE}),"
    " model, transcript_path, present_mode,"
    " exists (select 1 from requests indexed by requests_open"
    " where session = sessions.id and outcome = 'open') from sessions"
)
_OF_NATIVE_ID = f"{_SENDING} where agent = ? and native_id = ?"


def known(db: Connection, sender: Sender) -> Sending | None:
    """Return the session with the sender's native id, as ``session_bindings.known`` does."""
    named = (sender.agent, sender.native_id)
    row = db.execute(f"{_OF_NATIVE_ID} and {LIVE}", named).fetchone()
    if row is None and not sender.is_new:
        row = db.execute(f"{_OF_NATIVE_ID} order by since desc limit 1", named).fetchone()
    return Sending(*row) if row else None


def of_process(db: Connection, agent: str, process: str) -> Sending | None:
    """Return the live session of a process, regardless of its native id."""
    row = db.execute(
        f"{_SENDING} where process = ? and agent = ? and {LIVE}", (process, agent)
    ).fetchone()
    return Sending(*row) if row else None


def get(db: Connection, session: SessionId) -> Sending:
    row = db.execute(f"{_SENDING} where id = ?", (session,)).fetchone()
    if row is None:
        raise SessionUnknown(session)
    return Sending(*row)


def learn_mode(db: Connection, session: SessionId, mode: str) -> None:
    """Store the current permission mode of a session."""
    db.execute("update sessions set present_mode = ? where id = ?", (mode, session))
