"""Stream events: a snapshot, then every fact after it, without gaps."""

from __future__ import annotations

import asyncio
import json
import sys
from bisect import bisect_right
from collections.abc import AsyncIterator, Container
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from sqlite3 import Connection, Row

from pydantic import TypeAdapter
from sse_starlette import ServerSentEvent

from rookery.model.facts import KINDS, SessionId
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import reach
from rookery.operations.context import Caller, Context
from rookery.store import journal_entries, sessions
from rookery.store.database import Database

#: Entries that are read at once, and events that are kept encoded.
PAGE, KEPT = 500, 4_096

#: Bytes of the events that are kept: one with a long prompt has 64,000 and more.
MAX_RING_BYTES = 16_000_000

#: Limits of one chunk of past events: the entries read, and the characters sent.
MAX_CHUNK_ENTRIES, CHUNK_CHARS = 2_000, 64_000

#: The name in an event of a fact's field that would otherwise hide one of the event's own.
CALLED = {"kind": "asks"}

#: The kinds of facts that have such a field.
_RENAMED = frozenset(
    name for name, fact in KINDS.items() if not CALLED.keys().isdisjoint(fact.__match_args__)
)

#: The kind of the fact that names another session than its own, which may be a stranger.
_OVERLAP = "overlap-found"

_SESSIONS = TypeAdapter(list[Session])


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event to send: a fact with its number, or a snapshot as of a number."""

    seq: int
    session: SessionId | None
    name: str
    text: str  #: JSON

    @property
    def frame(self) -> bytes:
        return ServerSentEvent(self.text, event=self.name, id=str(self.seq)).encode()


@dataclass(slots=True)
class RecentEvents:
    """The latest events, read and encoded once for all followers."""

    database: Database
    _events: list[StreamEvent] = field(default_factory=list)
    _last: int = -1
    size: int = 0  #: bytes of the events that are kept
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def after(self, seq: int) -> list[StreamEvent]:
        """Return the events after ``seq``, at most one page of them."""
        async with self._reading:
            if not self._events:
                # Only the latest are kept: a reader of the distant past reads its own pages.
                newest = await self.database.read(journal_entries.last_number)
                self._last = max(self._last, seq, newest - KEPT)
            await self._read_on()
            if self._events and seq >= self._events[0].seq - 1:
                at = bisect_right(self._events, seq, key=lambda event: event.seq)
                return self._events[at : at + PAGE]
        return await self.database.read(partial(_page, after=seq))

    async def _read_on(self) -> None:
        while page := await self.database.read(partial(_page, after=self._last)):
            self._events += page
            self._last = page[-1].seq
            self.size += sum(map(_size, page))
            self._drop_the_oldest()

    def _drop_the_oldest(self) -> None:
        drop = max(0, len(self._events) - KEPT)
        self.size -= sum(map(_size, self._events[:drop]))
        while self.size > MAX_RING_BYTES:
            self.size -= _size(self._events[drop])
            drop += 1
        del self._events[:drop]


def _size(event: StreamEvent) -> int:
    return sys.getsizeof(event.text)


def _page(db: Connection, after: int) -> list[StreamEvent]:
    return [_event(row) for row in journal_entries.page(db, after=after, limit=PAGE)]


def _event(row: Row) -> StreamEvent:
    text = _told(row["seq"], row["at"], row["kind"], row["body"])
    return StreamEvent(row["seq"], SessionId(row["session"]), row["kind"], text)


def _told(seq: int, at: str, kind: str, body: str) -> str:
    """Return an entry as JSON: its number, time and kind before the fields of its fact."""
    if kind in _RENAMED:
        fields = {CALLED.get(name, name): value for name, value in json.loads(body).items()}
        body = json.dumps(fields)
    # Not decoded: a fact is stored as the same JSON that is sent.
    return f'{{"seq": {seq}, "at": "{at}", "kind": "{kind}", {body[1:]}'


def _within(allowed: Container[SessionId] | None, kind: str, text: str) -> str:
    """Return an event as a caller may read it: without the id of a session out of its reach."""
    if allowed is None or kind != _OVERLAP:
        return text
    fields = json.loads(text)
    if fields["other"] in allowed:
        return text
    return json.dumps({name: value for name, value in fields.items() if name != "other"})


async def follow(
    context: Context, ring: RecentEvents, caller: Caller, after: int | None
) -> AsyncIterator[StreamEvent]:
    """Yield the events after ``after``; a snapshot first, if that is none or not kept."""
    allowed, snapshot = await context.database.read(partial(_begin, context, caller, after))
    if snapshot:
        yield snapshot
    seq = snapshot.seq if snapshot else (after or 0)
    while True:
        # Taken before the read, so that no entry between it and the wait is missed.
        bell = context.database.bell()
        events = await ring.after(seq)
        if events and allowed is not None:
            # The caller may have a new child now.
            allowed = await context.database.read(partial(_family, context, caller))
        for event in events:
            seq = event.seq
            if allowed is None or event.session in allowed:
                text = _within(allowed, event.name, event.text)
                yield event if text is event.text else replace(event, text=text)
            if event.name == "session-ended" and event.session == caller.identity.session:
                return  # its badge is revoked
        if not events:
            await bell.wait()


async def recall(context: Context, caller: Caller, after: int) -> AsyncIterator[bytes]:
    """Yield the events after ``after`` that are still kept, up to now.

    They come in chunks of many events, which are encoded in the database reader's thread.
    """
    last = await context.database.read(journal_entries.last_number)
    while after < last:
        read = partial(_read_past, context, caller, after=after, last=last)
        after, frames = await context.database.read(read)
        if frames:
            yield frames


def _read_past(
    context: Context, caller: Caller, db: Connection, *, after: int, last: int
) -> tuple[int, bytes]:
    """Return the frames of some entries, and the number of the last one that was read."""
    allowed = _family(context, caller, db)  # read each time: it may have shrunk
    entries = journal_entries.between(db, after=after, last=last, limit=MAX_CHUNK_ENTRIES)
    frames: list[str] = []
    size, seq = 0, last  # if no entry is found, all were read
    for seq, at, session, kind, body in entries:
        if allowed is None or session in allowed:
            line = _within(allowed, kind, _told(seq, at, kind, body))
            frames.append(f"id: {seq}\r\nevent: {kind}\r\ndata: {line}\r\n\r\n")
            size += len(line)
            if size > CHUNK_CHARS:
                break
    return seq, "".join(frames).encode()


def _family(context: Context, caller: Caller, db: Connection) -> set[SessionId] | None:
    return reach(context, db, caller, Need.READ)


def _begin(
    context: Context, caller: Caller, after: int | None, db: Connection
) -> tuple[set[SessionId] | None, StreamEvent | None]:
    allowed = _family(context, caller, db)
    first, last = journal_entries.first_number(db), journal_entries.last_number(db)
    if after is not None and first - 1 <= after <= last:
        return allowed, None
    since = context.journal.clock.now() - timedelta(hours=context.settings.limits.listed_hours)
    listed = sessions.listed(db, ended_after=since)
    shown = [each for each in listed if allowed is None or each.id in allowed]
    text = json.dumps({"seq": last, "sessions": _SESSIONS.dump_python(shown, mode="json")})
    return allowed, StreamEvent(last, None, "snapshot", text)
