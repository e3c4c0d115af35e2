"""Store calls that are allowed: for the rest of their session, or once more."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.permissions import INEXACT, Call, RequestId

#: The key of a grant: a call, in the folder in which it was made.
_KEY = "digest || ' ' || folder"


def grant(db: Connection, request: RequestId) -> None:
    """Allow the call of a request for its session, unless the call was not read exactly."""
    db.execute(
        f"insert into grants select session, {_KEY}, id from requests where id = ?"
        f" and digest not like '{INEXACT}%' on conflict do nothing",
        (request,),
    )


def withdraw(db: Connection, request: RequestId) -> None:
    """Delete what an answer allowed for the rest of the session."""
    db.execute("delete from grants where request = ?", (request,))


def is_granted(db: Connection, session: SessionId, call: Call) -> bool:
    """Return whether this call was allowed for the rest of the session."""
    return call.is_exact and bool(
        db.execute(
            "select 1 from grants where session = ? and digest = ?",
            (session, f"{call.digest} {call.folder}"),
        ).fetchone()
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
