"""Answers that a waiting hook program passes to its agent, until it has received them.

Such an answer is ``due`` in the column ``keys``, like an answer by key press. It is for the
hook if the request has one and was not handed over to the agent's own dialog.
"""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.permissions import RequestId

#: Facts that show that an agent has received an answer, because it continues.
_HEARD = ("tool-called", "tool-used", "input-asked", "turn-started", "turn-ended")


def expected(db: Connection) -> list[RequestId]:
    """Return the requests for which a hook program waits, or should reconnect to wait."""
    rows = db.execute(
        "select id from requests where outcome = 'open' and hook is not null and not handed"
        " union all select id from requests where keys = 'due' and hook is not null"
        " and not handed"
    )
    return [RequestId(row["id"]) for row in rows]


def let_carry(db: Connection, request: RequestId, *, since: int | None) -> None:
    """Mark the answer as due for the hook program.

    ``since`` is the entry of the decision if a hook program waits now: it gets the answer at
    once, and the daemon may die between that and recording it.
    """
    db.execute(
        "update requests set keys = 'due', pressed_at = ? where id = ?", (since, request)
    )


def note_carried(db: Connection, request: RequestId) -> bool:
    """Record that the hook program got the answer. False if that was recorded before."""
    done = db.execute(
        "update requests set keys = 'none' where id = ? and keys = 'due' and not handed",
        (request,),
    )
    return done.rowcount > 0


def may_be_told(db: Connection, request: RequestId) -> bool:
    """Return whether a hook program waited for the answer, and no key press was planned."""
    row = db.execute(
        "select 1 from requests where id = ? and hook is not null and presses = 0"
        " and pressed_at is not null",
        (request,),
    ).fetchone()
    return row is not None


def is_heard(db: Connection, request: RequestId) -> bool:
    """Return whether the agent has continued since its hook program may have answered."""
    marks = ", ".join("?" for _ in _HEARD)
    row = db.execute(
        f"select 1 from requests r join entries e on e.session = r.session"
        f" and e.seq > r.pressed_at where r.id = ? and r.presses = 0 and e.kind in ({marks})"
        " limit 1",
        (request, *_HEARD),
    ).fetchone()
    return row is not None


def redirect(db: Connection, request: RequestId) -> None:
    """Switch an answer to key presses in the agent's dialog: its hook program is gone."""
    db.execute(
        "update requests set handed = 1 where id = ? and keys = 'due' and not handed",
        (request,),
    )
