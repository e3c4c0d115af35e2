"""Store messages and their delivery steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from sqlite3 import Connection, Row
from typing import NamedTuple

from rookery.model import facts
from rookery.model.envelopes import envelope
from rookery.model.facts import SessionId
from rookery.model.messages import (
    Message,
    MessageId,
    Origin,
    Parcel,
    Step,
    Words,
    join,
    same_words,
)
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import HEADLESS

#: Text that an agent takes for a command, if it is alone in the input box.
_COMMAND = "(envelope = '' and relay is null and words like '/%')"

#: A message whose sender waits for its own answer.
_ASKED = (
    "exists (select 1 from entries where seq = cause and kind = 'message-written'"
    " and json_extract(body, '$.alone'))"
)

#: A message that is not joined with others.
_ALONE = f"({_COMMAND} or {_ASKED})"

#: Matches Rookery's own news, as opposed to messages of a person or a session.
NEWS = "kind = 'news'"

#: Matches later pending messages to the same session.
_WAITS_ON = "recipient = :recipient and step = 'pending' and id > :first"


def add(db: Connection, recipient: SessionId, words: Words, origin: Origin) -> MessageId:
    added = db.execute(
        "insert into messages (recipient, words, removed, changed, author, kind, cause,"
        " envelope, hops, relay, written_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select at from entries where seq = ?))",
        (
            *(recipient, words.text, words.removed, words.changed),
            *(str(origin.author), origin.kind, origin.cause),
            *(origin.envelope, origin.hops, origin.relay, origin.cause),
        ),
    )
    number = MessageId(added.lastrowid or 0)
    by = "rookery" if origin.author.is_rookery else str(origin.author)
    db.execute(
        "update sessions set last_input_origin = ?1 where id = ?2 and last_input_origin <> ?1",
        (by, recipient),
    )
    return number


class PendingMessage(NamedTuple):
    """A pending message, whose text may still be extended."""

    id: MessageId
    words: str


def find_pending(
    db: Connection, recipient: SessionId, *, envelope: str
) -> PendingMessage | None:
    """Return the newest pending message to a session under an envelope."""
    row = db.execute(
        "select id, words from messages indexed by messages_pending"
        " where recipient = ? and step = 'pending' and envelope = ? order by id desc limit 1",
        (recipient, envelope),
    ).fetchone()
    return PendingMessage(MessageId(row["id"]), row["words"]) if row else None


def rewrite(db: Connection, message: MessageId, words: str, *, hops: int) -> None:
    """Replace the text of a pending message; the higher hop count applies."""
    db.execute(
        "update messages set words = ?, hops = max(hops, ?) where id = ? and step = 'pending'",
        (words, hops, message),
    )


def hops_of(db: Connection, session: SessionId, *, stop: datetime | None = None) -> int:
    """Return the hop count of a session's turn: the running one, or that which ended then.

    A prompt from a person, or one that Rookery did not send, counts as 0. Rookery's own news
    does not reset the hop count of the messages next to it.
    """
    row = db.execute(
        f"select min(iif({NEWS}, null, hops)) as nearest, max(hops) as furthest"
        " from messages where parcel in ("
        " select parcel from (select parcel, ended_at from turns where session = ?"
        " order by started_by desc limit 8) where ended_at is ?)",
        (session, stop.isoformat() if stop else None),
    ).fetchone()
    return 0 if row["nearest"] == 0 else row["furthest"] or 0


def get(db: Connection, message: MessageId) -> Message | None:
    row = db.execute("select * from messages where id = ?", (message,)).fetchone()
    if row is None:
        return None
    blocked = obstacle_in(row)
    return Message(
        id=MessageId(row["id"]),
        recipient=SessionId(row["recipient"]),
        step=Step(row["step"]),
        removed=row["removed"],
        changed=row["changed"],
        waits_for=row["waits_for"],
        obstacle=blocked.detail if blocked else row["waits_for"],
        blocked=blocked,
    )


def obstacle_in(row: Row) -> Obstacle | None:
    """Return what keeps the message of a row from being delivered."""
    code = row["blocked_code"]
    return Obstacle(BlockedReason(code), row["blocked_detail"]) if code else None


def owed(db: Connection) -> list[SessionId]:
    """Return the sessions with a parcel in delivery, and idle ones with pending messages.

    A headless session cannot receive messages: they stay pending, where the user sees them.
    """
    rows = db.execute(
        "select recipient from messages"
        " where id = parcel and step in ('sending', 'pasted', 'submitted') union"
        " select recipient from messages join sessions on sessions.id = recipient"
        " where step = 'pending' and activity = 'idle' and runtime <> ?",
        (HEADLESS,),
    )
    return [SessionId(row["recipient"]) for row in rows]


def is_owed(db: Connection, recipient: SessionId) -> bool:
    """Return whether messages to it are pending or in delivery."""
    return bool(
        db.execute(
            "select 1 from messages where recipient = ?"
            " and step in ('pending', 'sending', 'pasted', 'submitted')",
            (recipient,),
        ).fetchone()
    )


def has_pending(db: Connection, recipient: SessionId) -> bool:
    """Return whether messages to it wait whose delivery has not begun."""
    found = db.execute(
        "select 1 from messages indexed by messages_pending"
        " where recipient = ? and step = 'pending'",
        (recipient,),
    )
    return found.fetchone() is not None


def first_for(db: Connection, recipient: SessionId) -> MessageId | None:
    """Return the first message to a session, its start prompt, if there is one."""
    query = "select min(id) as id from messages where recipient = ?"
    found = db.execute(query, (recipient,)).fetchone()["id"]
    return None if found is None else MessageId(found)


def provenance(db: Connection, session: SessionId) -> list[str]:
    """Return the origins of a session's last prompt, except text that a person wrote."""
    rows = db.execute(
        "select distinct iif(relay is null, envelope, 'relay ' || relay || ', session '"
        " || coalesce(sessions.name || ' (' || sessions.id || ')', 'unknown')) as origin"
        " from messages left join entries on seq = cause"
        " left join sessions on sessions.id = entries.session"
        " where (envelope <> '' or relay is not null) and parcel ="
        " (select parcel from turns where session = ? order by started_by desc limit 1)",
        (session,),
    )
    return [row["origin"] for row in rows]


def claim(
    db: Connection, recipient: SessionId, at: datetime, *, alone: bool = False
) -> Parcel | None:
    """Join the pending messages to an idle session into one parcel, now ``sending``.

    Sent separately are: a command for the agent's program, which begins with a slash; a
    message whose sender waits for its own answer; and, with ``alone``, every message, for a
    program that takes one line at a time.
    """
    first = db.execute(
        "select min(messages.id) as id from messages indexed by messages_pending"
        " join sessions on sessions.id = recipient"
        " where recipient = ? and step = 'pending' and activity = 'idle'",
        (recipient,),
    ).fetchone()["id"]
    if first is None:
        return None
    db.execute(
        "update messages indexed by messages_pending"
        " set step = 'sending', parcel = :first, taken_up = :at"
        " where recipient = :recipient and step = 'pending' and id < coalesce(("
        f" select min(id) from messages as later where {_WAITS_ON} and (:alone or {_ALONE} or ("
        f" select {_ALONE} from messages as first where id = :first))), 9e18)",
        {"first": first, "at": at.isoformat(), "recipient": recipient, "alone": alone},
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


def explain(db: Connection, recipient: SessionId, obstacle: Obstacle) -> None:
    """Record why the delivery of pending messages to a session has not begun."""
    db.execute(
        "update messages set waits_for = ?1, blocked_code = ?2, blocked_detail = ?1"
        " where recipient = ?3 and step = 'pending'",
        (obstacle.detail, obstacle.code, recipient),
    )


def fail(db: Connection, parcel: Parcel, *, reason: str) -> bool:
    """Mark a parcel as failed: the agent will never get it. False if it is settled already."""
    failed = db.execute(
        "update messages set step = 'failed', parcel = null, waits_for = ?, blocked_code = ''"
        " where parcel = ? and step in ('sending', 'pasted', 'submitted')",
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
    rows = db.execute("select * from messages where parcel = ? order by id", (last["parcel"],))
    return _parcel(last["parcel"], rows.fetchall())


def move(db: Connection, parcel: Parcel, step: Step) -> bool:
    """Set the step of a parcel. False if it is settled: a proof may arrive during delivery."""
    moved = db.execute(
        "update messages set step = ?, waits_for = '', blocked_code = '' where parcel = ?"
        " and step in ('sending', 'pasted', 'submitted')",
        (step, parcel.id),
    )
    return moved.rowcount > 0


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
        case facts.SessionEnded(session):
            db.execute(
                "update messages set step = 'failed' where recipient = ? and step = 'pending'",
                (session,),
            )
            db.execute(
                "update messages set step = 'unsure' where recipient = ?"
                " and step in ('sending', 'pasted', 'submitted', 'unsure')",
                (session,),
            )
        case _:
            pass
    return None


def _unproved(db: Connection, recipient: SessionId) -> Iterator[Parcel]:
    """Yield the parcels without proof; newest first, as the same text may be sent again."""
    rows = db.execute(
        "select * from messages indexed by messages_unproved where recipient = ?"
        " and step in ('sending', 'pasted', 'submitted', 'unsure') order by parcel desc, id",
        (recipient,),
    ).fetchall()
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
