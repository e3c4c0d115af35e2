"""Answers that a waiting hook program carries to its agent, until it has been told.

Such an answer is ``due`` in the column ``keys`` as one that is to be pressed; which of the two
it is, is whether the request has a hook and was not handed over to the agent's own dialog.
"""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.permissions import RequestId

#: Facts by which an agent tells that it has heard an answer: it goes on.
_HEARD = ("tool-called", "tool-used", "input-asked", "turn-started", "turn-ended")


def expected(db: Connection) -> list[RequestId]:
    """Return the requests for which a hook program waits, or should come back to wait."""
    rows = db.execute(
        "select id from requests where outcome = 'open' and hook is not null and not handed"
        " union all select id from requests where keys = 'due' and hook is not null"
        " and not handed"
    )
    return [RequestId(row["id"]) for row in rows]


def let_carry(db: Connection, request: RequestId, *, since: int | None) -> None:
    """Note that a hook program is to be told the answer.

    ``since`` is the entry of the decision if a hook program waits now: it is told at once, so
    that the daemon may die after that and before it is noted.
    """
    db.execute(
        "update requests set keys = 'due', pressed_at = ? where id = ?", (since, request)
    )


def note_carried(db: Connection, request: RequestId) -> bool:
    """Note that the hook program was told. False if that was noted before."""
    done = db.execute(
        "update requests set keys = 'none' where id = ? and keys = 'due' and not handed",
        (request,),
    )
    return done.rowcount > 0


def may_be_told(db: Connection, request: RequestId) -> bool:
    """Return whether a hook program waited when the answer was given, and no key was meant."""
    row = db.execute(
        "select 1 from requests where id = ? and hook is not null and presses = 0"
        " and pressed_at is not null",
        (request,),
    ).fetchone()
    return row is not None


def is_heard(db: Connection, request: RequestId) -> bool:
    """Return whether the agent has gone on since its hook program could have told it."""
    marks = ", ".join("?" for _ in _HEARD)
    row = db.execute(
        f"select 1 from requests r join entries e on e.session = r.session"
        f" and e.seq > r.pressed_at where r.id = ? and r.presses = 0 and e.kind in ({marks})"
        " limit 1",
        (request, *_HEARD),
    ).fetchone()
    return row is not None


def redirect(db: Connection, request: RequestId) -> None:
    """Let an answer be pressed in the agent's own dialog: its hook program is gone."""
    db.execute(
        "update requests set handed = 1 where id = ? and keys = 'due' and not handed",
        (request,),
    )
