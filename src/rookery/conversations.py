"""What was said in a conversation, read from the end of what its agent wrote down."""

from __future__ import annotations

import heapq
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple, TypeVar

import anyio

from rookery.agents.conversations import Kind, Passage, Written, place_of, read_line
from rookery.agents.transcripts import is_named_after, is_of_subagent
from rookery.model.facts import Fact, How, SessionId, TranscriptFound, TurnEnded
from rookery.model.sessions import Session
from rookery.ports import Clock
from rookery.store import sessions, transcripts, turns
from rookery.store.database import Database

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: Bytes of a file; a larger one is no transcript.
LARGEST = 1024 * 1024 * 1024

#: Bytes that are read at once.
BLOCK = 256 * 1024

#: Bytes of a line; a longer one is a picture or the like, and is passed over.
LONGEST = 1024 * 1024

#: Files of one session that are read: the latest conversations.
MOST_FILES = 20

#: Characters that a passage takes, besides its text.
FRAME = 20


class Most(NamedTuple):
    """How much of the end of a file is read."""

    bytes: int
    lines: int


#: For the last words of a turn, while others wait; and for whoever asks.
END, ALL = Most(4 * 1024 * 1024, 2_000), Most(16 * 1024 * 1024, 50_000)

#: Seconds between two looks for the last words of a turn.
PAUSE = 0.05

#: What stands last in a turn that is over, and how it ended then.
FINAL: Mapping[Kind, How] = {
    "words": "finished",
    "error": "failed",
    "interruption": "interrupted",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which something was said."""

    since: datetime
    until: datetime

    @staticmethod
    def of(session: Session) -> Span:
        """Return all that is a session's own: a resumed conversation goes on in its file."""
        end = session.ended_at or datetime.max.replace(tzinfo=UTC)
        return Span(session.created_at, end)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of a conversation is asked for."""

    span: Span
    room: int  #: characters; what was said last is kept first
    without: frozenset[str] = frozenset()  #: texts that are known already


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn has answered, read where its agent wrote it down."""

    words: str = ""
    path: str = ""  #: of the transcript, if nobody knew it
    how: How = "finished"

    def added_to(self, told: Iterable[Fact]) -> list[Fact]:
        """Add the words to the end of a turn that was only seen."""
        found = list[Fact]()
        for fact in told:
            if not isinstance(fact, TurnEnded) or fact.how != "finished":
                found.append(fact)
                continue
            if self.path:
                found.append(TranscriptFound(fact.session, self.path))
            found.append(replace(fact, last_words=self.words, how=self.how))
        return found


NOTHING = Answer()


@dataclass(frozen=True, slots=True)
class Conversations:
    #: Where each agent keeps what it writes down.
    folders: Mapping[str, Sequence[Path]]
    clock: Clock
    #: One at a time, and in a thread of its own: a disk may be slow, a file large. Whoever asks
    #: for much keeps nobody waiting who only looks how a turn has ended.
    _looking: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    _asking: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def answer(
        self,
        database: Database,
        session: SessionId,
        *,
        until: datetime | None = None,
        tries: int = 1,
    ) -> Answer | None:
        """Return what the present turn of a session has answered, where no hook tells it.

        It is looked for so often, among what was said ``until`` then. ``None`` if nobody
        knows where it is written down.
        """
        found, since = await database.read(partial(_present_turn, session=session))
        if not (found.transcript_path or place_of(found.agent, found.native_id or "")):
            return None
        read = partial(self._read_end, found, Span(since, until or self.clock.now()))
        path, last = await _aside(read, self._looking)
        while path and tries > 1 and (last is None or last.kind not in FINAL):
            tries -= 1
            await self.clock.sleep(PAUSE)
            path, last = await _aside(read, self._looking)
        if not path:
            return None
        words = last.text if last and last.kind == "words" else ""
        # A turn whose last was a tool has answered nothing, and is over all the same.
        how = FINAL.get(last.kind, "finished") if last else "finished"
        return Answer(words, path if path != found.transcript_path else "", how)

    def _read_end(self, session: Session, span: Span) -> tuple[str, Passage | None]:
        """Return where a session's transcript is, and what stands last in it."""
        path = self.find(session)
        found = _passages(session.agent, path, span, most=END) if path else iter(())
        return path, next(found, None)

    def find(self, session: Session) -> str:
        """Return where a session's transcript is; empty if nobody can tell."""
        native_id, known = session.native_id or "", session.transcript_path
        if is_named_after(session.agent, known, native_id):
            return known
        folders, place = self.folders.get(session.agent, ()), place_of(session.agent, native_id)
        named = (
            [str(each) for folder in folders for each in folder.glob(place)] if place else []
        )
        return named[0] if len(named) == 1 else ""  # of two, nobody can tell which it is

    async def read(self, database: Database, session: Session, wanted: Wanted) -> list[Passage]:
        """Return what was said last, as much as there is room for; oldest first."""
        known = await database.read(partial(transcripts.of_session, session=session.id))
        latest = sorted(known, key=lambda each: each.until or each.since)
        names = [each.path for each in latest if not is_of_subagent(each.path)]

        def found() -> list[Passage]:
            paths = names[-MOST_FILES:] or [path for path in (self.find(session),) if path]
            return read(session.agent, paths, wanted)

        return await _aside(found, self._asking)


async def _aside(work: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


def _present_turn(db: Connection, session: SessionId) -> tuple[Session, datetime]:
    """Return a session, and since when what it says is of its present turn.

    That is the end of the one before: that a turn has begun may be known only after it has
    answered.
    """
    found = sessions.get(db, session)
    before = turns.of_session(db, session, last=2)[:-1]
    return found, (before and before[0].ended_at) or found.created_at


def read(agent: str, paths: Sequence[str], wanted: Wanted) -> list[Passage]:
    """Return what was said last in some files, as much as there is room for; oldest first."""
    found = (_passages(agent, path, wanted.span, most=ALL) for path in paths)
    latest = heapq.merge(*found, key=lambda each: each.at, reverse=True)
    return list(_kept(latest, wanted))[::-1]


def _kept(passages: Iterable[Passage], wanted: Wanted) -> Iterator[Passage]:
    """Take those for which there is room."""
    room = wanted.room
    for passage in passages:
        if room <= 0:
            return
        if passage.text not in wanted.without:
            yield replace(passage, text=end_of(passage.text, room))
            room -= len(passage.text) + FRAME


def end_of(text: str, room: int) -> str:
    """Return the end of a text for which there is room, and say what is missing."""
    if len(text) <= room:
        return text
    return f"({len(text) - room:,} characters before) …{text[len(text) - room :]}"


def _passages(agent: str, path: str, span: Span, *, most: Most) -> Iterator[Passage]:
    """Yield what was said in a span of time, the last first."""
    for written in _written(agent, path, most):
        for passage in reversed(written.passages):
            if passage.at < span.since:
                return
            if passage.at <= span.until:
                yield passage


def _written(agent: str, path: str, most: Most) -> Iterator[Written]:
    """Yield what the lines of a file say, the last first, each id once."""
    seen = set[str]()
    try:
        with opened(path) as file:
            for line in islice(_lines_from_the_end(file, most.bytes), most.lines):
                written = read_line(agent, line) if len(line) <= LONGEST else None
                if written and written.id not in seen:
                    seen |= {written.id} - {""}
                    yield written
    except FileNotFoundError:
        return  # agents write nothing before the first turn
    except (OSError, ValueError) as error:
        _log.warning("%r is not read: %s", path, error)


def _lines_from_the_end(file: int, most: int) -> Iterator[bytes]:
    """Yield whole lines, the last first; of a long file only those at its end."""
    end = os.fstat(file).st_size
    least = max(0, end - most)
    rest = b""
    while end > least:
        begin = max(least, end - BLOCK)
        rest, *lines = (os.pread(file, end - begin, begin) + rest).split(b"\n")
        yield from reversed(lines)
        end = begin
    if not least:
        yield rest


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Open a file that a session named. Raises ``OSError`` for what is no transcript.

    The session's own processes may read whatever we may, and could tell it themselves to all
    who may read the session. So it may be in any folder; but it must not hang us, nor be a
    device, nor another user's.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(path, flags)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError("it is no file of yours")
        if found.st_size > LARGEST:
            raise PermissionError("it is too large")
        yield file
    finally:
        os.close(file)
