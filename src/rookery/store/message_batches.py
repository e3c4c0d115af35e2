"""Store parcels: messages that are delivered together, and the steps of their delivery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from sqlite3 import Connection, Row

from rookery.model import facts
from rookery.model.envelopes import envelope
from rookery.model.facts import SessionId
from rookery.model.messages import (
    Parcel,
    Step,
    Way,
    join,
    same_words,
)
from rookery.model.obstacles import Obstacle
from rookery.store.timestamps import stamp

#: Text that an agent takes for a command, if it is alone in the input box.
_COMMAND = "(envelope = '' and relay is null and words like '/%')"


#: A message whose sender waits for its own answer.
_ASKED = (
    "exists (select 1 from entries where seq = cause and kind = 'message-written'"
    " and json_extract(body, '$.alone'))"
)


#: A message that is not joined with others.
_ALONE = f"({_COMMAND} or {_ASKED})"


#: What ``_parcel`` reads; Python describes each column of a query, which takes longer than most
#: searches for a row.
_PIECE = "id, parcel, recipient, step, taken_up, words, envelope, relay, author, refused, way"


#: Matches later pending messages to the same session.
_WAITS_ON = "recipient = :recipient and step = 'pending' and id > :first"


def claim(
    db: Connection, recipient: SessionId, at: datetime, *, alone: bool = False
) -> Parcel | None:
    """Join the pending messages to an idle session into one parcel, now ``sending``.

    Sent separately are: a command for the agent's program, which begins with a slash; a
    message whose sender waits for its own answer; and, with ``alone``, every message, for a
    program that takes one line at a time. An urgent message is sent first and separately; one
    that steers the agent also to a session in the middle of a turn.
    """
    first = db.execute(
        "select messages.id, urgency from messages indexed by messages_by_step"
        " join sessions on sessions.id = recipient where recipient = ? and step = 'pending'"
        " and (activity = 'idle' or (activity = 'working' and urgency = 'steer'))"
        " order by urgency = '', messages.id limit 1",
        (recipient,),
    ).fetchone()
    if first is None:
        return None
    is_alone = alone or bool(first["urgency"])
    db.execute(
        "update messages indexed by messages_by_step"
        " set step = 'sending', parcel = :first, taken_up = :at"
        " where recipient = :recipient and step = 'pending' and id >= :first"
        " and id < coalesce(("
        f" select min(id) from messages as later where {_WAITS_ON} and (:alone or {_ALONE} or ("
        f" select {_ALONE} from messages as first where id = :first))), 9e18)",
        {"first": first["id"], "at": stamp(at), "recipient": recipient, "alone": is_alone},
    )
    return under_way(db, recipient)


def is_by_session(db: Connection, parcel: Parcel) -> bool:
    """Return whether a session has written a message of a parcel."""
    query = "select 1 from messages where parcel = ? and kind = 'session'"
    return db.execute(query, (parcel.id,)).fetchone() is not None


def release(db: Connection, parcel: Parcel) -> bool:
    """Undo ``claim``, only if the runtime guarantees that it did nothing.

    False if the parcel was typed or is settled.
    """
    returned = db.execute(
        "update messages set step = 'pending', parcel = null"
        " where parcel = ? and step = 'sending'",
        (parcel.id,),
    )
    return returned.rowcount > 0


def note_blocked(
    db: Connection, parcel: Parcel, obstacle: Obstacle | None, *, text: str
) -> bool:
    """Record why messages wait, with a text for the user. True if that has changed."""
    code, detail = (obstacle.code, obstacle.detail) if obstacle else ("", "")
    changed = db.execute(
        "update messages set waits_for = ?1, blocked_code = ?2, blocked_detail = ?3"
        " where waits_for <> ?1 and (parcel = ?4 or (recipient = ?5 and step = 'pending'))",
        (text, code, detail, parcel.id, parcel.recipient),
    )
    return changed.rowcount > 0


def fail(db: Connection, parcel: Parcel, *, reason: str) -> bool:
    """Mark a parcel as failed: the agent will never get it. False if it is settled already.

    If its session has ended meanwhile, it is unsure until then.
    """
    failed = db.execute(
        "update messages set step = 'failed', parcel = null, waits_for = ?, blocked_code = ''"
        " where parcel = ? and step in ('sending', 'pasted', 'submitted', 'unsure')",
        (reason, parcel.id),
    )
    return failed.rowcount > 0


def refuse(db: Connection, parcel: Parcel, *, reason: str) -> None:
    """Record why the agent refused the text, before it is removed from the input box."""
    db.execute(
        "update messages set refused = ? where parcel = ?"
        " and step in ('sending', 'pasted', 'submitted')",
        (reason, parcel.id),
    )


def last_typed(db: Connection, recipient: SessionId) -> Parcel | None:
    """Return the last parcel to a session that was typed and is settled."""
    last = db.execute(
        "select parcel from messages where recipient = ?"
        " and step in ('acknowledged', 'unsure') order by id desc limit 1",
        (recipient,),
    ).fetchone()
    if last is None:
        return None
    query = f"select {_PIECE} from messages where parcel = ? order by id"
    return _parcel(last["parcel"], db.execute(query, (last["parcel"],)).fetchall())


def move(db: Connection, parcel: Parcel, step: Step, *, way: str = "") -> bool:
    """Set the step of a parcel, and the way that it took if that is not known yet.

    False if it is settled: a proof may arrive during delivery.
    """
    moved = db.execute(
        "update messages set step = ?, way = iif(way = '', ?, way), waits_for = '',"
        " blocked_code = '' where parcel = ? and step in ('sending', 'pasted', 'submitted')",
        (step, way, parcel.id),
    )
    return moved.rowcount > 0


def choose_way(db: Connection, parcel: Parcel, way: str) -> None:
    """Record which way a parcel takes, before it is given to the agent."""
    db.execute("update messages set way = ? where parcel = ?", (way, parcel.id))


def under_way(db: Connection, recipient: SessionId) -> Parcel | None:
    parcels = (each for each in _unproved(db, recipient) if each.step is not Step.UNSURE)
    return next(parcels, None)


def project(db: Connection, seq: int, fact: facts.Fact) -> int | None:
    """Settle the messages that ``fact`` affects. Returns the parcel whose arrival it proves."""
    match fact:
        case facts.TurnStarted(session, prompt):
            same = (each for each in _unproved(db, session) if same_words(each.words, prompt))
            if parcel := next(same, None):
                db.execute(
                    "update messages set step = 'acknowledged', acknowledged_by = ?,"
                    " waits_for = '', blocked_code = '' where parcel = ?",
                    (seq, parcel.id),
                )
                return parcel.id
        case facts.CommandTaken(_, parcel_id):
            db.execute(
                "update messages set step = 'acknowledged', acknowledged_by = ?,"
                " waits_for = '', blocked_code = ''"
                " where parcel = ? and step in ('sending', 'pasted', 'submitted', 'unsure')",
                (seq, parcel_id),
            )
        case facts.SessionEnded(session, _, outcome):
            if outcome == "completed":
                _acknowledge_commands(db, session, seq)
            _settle_at_end(db, session)
        case _:
            pass
    return None


def _acknowledge_commands(db: Connection, session: SessionId, seq: int) -> None:
    """Settle commands as ``/exit``: the program took one if it then ended by itself."""
    for parcel in list(_unproved(db, session)):
        if parcel.step is Step.SUBMITTED and parcel.is_command:
            db.execute(
                "update messages set step = 'acknowledged', acknowledged_by = ?,"
                " waits_for = '', blocked_code = '' where parcel = ?",
                (seq, parcel.id),
            )


def _settle_at_end(db: Connection, session: SessionId) -> None:
    """Settle the messages of a session that has ended.

    A runtime stores ``pasted`` before it presses Enter or passes a text on: what was only
    claimed has not been sent. What was meant for a queue of the agent may be there.
    """
    db.execute(
        "update messages set step = 'failed', parcel = null where recipient = ?"
        " and (step = 'pending' or (step = 'sending' and way <> ?))",
        (session, Way.QUEUE),
    )
    db.execute(
        "update messages set step = 'unsure' where recipient = ?"
        " and step in ('sending', 'pasted', 'submitted', 'unsure')",
        (session,),
    )


def _unproved(db: Connection, recipient: SessionId) -> Iterator[Parcel]:
    """Yield the parcels without proof; newest first, as the same text may be sent again."""
    rows = db.execute(
        f"select {_PIECE} from messages indexed by messages_unproved where recipient = ?"
        " and step in ('sending', 'pasted', 'submitted', 'unsure')",
        (recipient,),
    ).fetchall()
    # Sorted here: there is rarely a row, and SQLite prepares to sort for every turn.
    rows.sort(key=lambda row: (-row["parcel"], row["id"]))
    for parcel, group in groupby(rows, key=itemgetter("parcel")):
        yield _parcel(parcel, list(group))


def _parcel(number: int, rows: Sequence[Row]) -> Parcel:
    first = rows[0]
    return Parcel(
        id=number,
        recipient=SessionId(first["recipient"]),
        words=join(_pieces(rows)),
        step=Step(first["step"]),
        since=datetime.fromisoformat(first["taken_up"]),
        is_composed=bool(first["envelope"] or first["relay"]),
        refused=first["refused"],
        way=first["way"],
    )


def _pieces(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield texts with their envelopes. A person's text needs one only after others' text."""
    after_others = False
    for row in rows:
        is_persons = not row["envelope"] and row["relay"] is None
        if is_persons and after_others:
            by = envelope(speaker=row["author"], recipient="you", about="a message")
            yield by, row["words"]
        else:
            yield row["envelope"], row["words"]
        after_others = after_others or not is_persons
