"""Words that wait, travel and arrive: rows to model and back."""

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
    obstacle_in,
    same_words,
)
from rookery.model.sessions import HEADLESS

#: Words that an agent takes for a command, if they are all that stands in its box.
_COMMAND = "(envelope = '' and relay is null and words like '/%')"

#: Words whose sender waits for their own answer.
_ASKED = (
    "exists (select 1 from entries where seq = cause and kind = 'message-written'"
    " and json_extract(body, '$.alone'))"
)

#: Words that are joined with no others.
_ALONE = f"({_COMMAND} or {_ASKED})"

#: Matches news of Rookery's own, as opposed to the words of a person or a session.
NEWS = "kind = 'news'"

#: Waits for the same session, behind the first.
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
    """Words that wait, and may still be added to."""

    id: MessageId
    words: str


def find_pending(
    db: Connection, recipient: SessionId, *, envelope: str
) -> PendingMessage | None:
    """Return the newest words that wait for a session under an envelope."""
    row = db.execute(
        "select id, words from messages indexed by messages_pending"
        " where recipient = ? and step = 'pending' and envelope = ? order by id desc limit 1",
        (recipient, envelope),
    ).fetchone()
    return PendingMessage(MessageId(row["id"]), row["words"]) if row else None


def rewrite(db: Connection, message: MessageId, words: str, *, hops: int) -> None:
    """Replace words that wait; they are as far from a person's as the farthest of them."""
    db.execute(
        "update messages set words = ?, hops = max(hops, ?) where id = ? and step = 'pending'",
        (words, hops, message),
    )


def hops_of(db: Connection, session: SessionId, *, stop: datetime | None = None) -> int:
    """Say how far a session's turn is from a person's words: the one that runs, or ended then.

    What a person said, or nobody of us, counts as near as can be; our own news beside other
    words brings nobody nearer.
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
    return Message(
        id=MessageId(row["id"]),
        recipient=SessionId(row["recipient"]),
        step=Step(row["step"]),
        removed=row["removed"],
        changed=row["changed"],
        waits_for=row["waits_for"],
        obstacle=obstacle_in(row["waits_for"]),
    )


def owed(db: Connection) -> list[SessionId]:
    """Name the sessions that have a parcel under way, or are idle and have words waiting.

    Nobody can speak to a headless session: its words wait where one can see them.
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
    """Whether words for it still wait or are on their way."""
    return bool(
        db.execute(
            "select 1 from messages where recipient = ?"
            " and step in ('pending', 'sending', 'pasted', 'submitted')",
            (recipient,),
        ).fetchone()
    )


def has_pending(db: Connection, recipient: SessionId) -> bool:
    """Whether words for it wait that nobody has touched."""
    found = db.execute(
        "select 1 from messages indexed by messages_pending"
        " where recipient = ? and step = 'pending'",
        (recipient,),
    )
    return found.fetchone() is not None


def first_for(db: Connection, recipient: SessionId) -> MessageId | None:
    """Name the words that a session was started with, if there were any."""
    query = "select min(id) as id from messages where recipient = ?"
    found = db.execute(query, (recipient,)).fetchone()["id"]
    return None if found is None else MessageId(found)


def provenance(db: Connection, session: SessionId) -> list[str]:
    """Say whose words a session has just taken up, if they were not a person's."""
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


def take_up(
    db: Connection, recipient: SessionId, at: datetime, *, alone: bool = False
) -> Parcel | None:
    """Join what waits for an idle session into one parcel, from now on ``sending``.

    All of it; but a command for its program, which begins with a slash, goes alone, and so
    do words whose sender waits for their own answer, and everything for a program that takes
    one line after the other.
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
    """Return whether a session has written words of a parcel."""
    query = "select 1 from messages where parcel = ? and kind = 'session'"
    return db.execute(query, (parcel.id,)).fetchone() is not None


def put_back(db: Connection, parcel: Parcel, *, reason: str) -> bool:
    """Undo ``take_up``: only for a runtime that swears it did nothing.

    True if they wait for another reason than before.
    """
    returned = db.execute(
        "update messages set step = 'pending', parcel = null"
        " where parcel = ? and step = 'sending'",
        (parcel.id,),
    )
    return returned.rowcount > 0 and delay(db, parcel, reason=reason)


def delay(db: Connection, parcel: Parcel, *, reason: str) -> bool:
    """Say why words wait. True if they wait for another reason than before."""
    changed = db.execute(
        "update messages set waits_for = ? where waits_for <> ? and (parcel = ?"
        " or (recipient = ? and step = 'pending'))",
        (reason, reason, parcel.id, parcel.recipient),
    )
    return changed.rowcount > 0


def explain(db: Connection, recipient: SessionId, *, reason: str) -> None:
    """Say why the words for a session have not been looked at yet."""
    db.execute(
        "update messages set waits_for = ? where recipient = ? and step = 'pending'",
        (reason, recipient),
    )


def fail(db: Connection, parcel: Parcel, *, reason: str) -> bool:
    """Give up words that its agent will never get. False if they are settled already."""
    failed = db.execute(
        "update messages set step = 'failed', parcel = null, waits_for = ?"
        " where parcel = ? and step in ('sending', 'pasted', 'submitted')",
        (reason, parcel.id),
    )
    return failed.rowcount > 0


def refuse(db: Connection, parcel: Parcel, *, reason: str) -> None:
    """Note why the agent did not take the words, before they are taken out of its box."""
    db.execute(
        "update messages set refused = ? where parcel = ?"
        " and step in ('sending', 'pasted', 'submitted')",
        (reason, parcel.id),
    )


def last_typed(db: Connection, recipient: SessionId) -> Parcel | None:
    """Return the last words that were typed for a session, if that is settled."""
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
    """Take a parcel on. False if it is settled: a proof may overtake its courier."""
    moved = db.execute(
        "update messages set step = ?, waits_for = '' where parcel = ?"
        " and step in ('sending', 'pasted', 'submitted')",
        (step, parcel.id),
    )
    return moved.rowcount > 0


def under_way(db: Connection, recipient: SessionId) -> Parcel | None:
    parcels = (each for each in _unproved(db, recipient) if each.step is not Step.UNSURE)
    return next(parcels, None)


def project(db: Connection, seq: int, fact: facts.Fact) -> int | None:
    """Settle the messages of which ``fact`` proves something. Returns the parcel it proved."""
    match fact:
        case facts.TurnStarted(session, prompt):
            same = (each for each in _unproved(db, session) if same_words(each.words, prompt))
            if parcel := next(same, None):
                db.execute(
                    "update messages set step = 'acknowledged', acknowledged_by = ?,"
                    " waits_for = '' where parcel = ?",
                    (seq, parcel.id),
                )
                return parcel.id
        case facts.CommandTaken(_, parcel_id):
            db.execute(
                "update messages set step = 'acknowledged', acknowledged_by = ?, waits_for = ''"
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
    """Yield the parcels that left; newest first, as the same words may be said again."""
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
    """Yield words with the line above them. A person's need one where others' go before."""
    after_others = False
    for row in rows:
        is_persons = not row["envelope"] and row["relay"] is None
        if is_persons and after_others:
            by = envelope(speaker=row["author"], recipient="you", about="a message")
            yield by, row["words"]
        else:
            yield row["envelope"], row["words"]
        after_others = after_others or not is_persons
