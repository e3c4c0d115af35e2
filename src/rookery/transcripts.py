"""What agents wrote down of their tokens is read from their transcripts, each response once."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from sqlite3 import Connection

import anyio

from rookery.agents.transcripts import (
    folder_of_subagents,
    is_named_after,
    is_of_subagent,
    read_usage,
)
from rookery.config import Price
from rookery.model.errors import SessionUnknown
from rookery.model.evidence import Evidence
from rookery.model.facts import (
    ConversationLeft,
    SessionEnded,
    SessionId,
    SessionRecovered,
    SessionStarted,
    TranscriptFound,
    TurnEnded,
    UsageReported,
)
from rookery.model.sessions import Session
from rookery.ports.transcript import Tokens, Usage
from rookery.store import evidence, sessions, transcripts, turns
from rookery.store.database import Database
from rookery.store.journal import Entry, Journal, Reader
from rookery.store.transcripts import Progress
from rookery.supervise import Reconciler
from rookery.transcript_files import opened

_log = logging.getLogger(__name__)

#: Seconds for an agent to write down the last of a turn: Claude does that after its stop hook.
#: And as many more as it may take on a busy machine, after which it is looked once more.
SETTLE, AGAIN = 1.0, 5.0


#: Bytes that are read and counted at once. A longer line tells nothing of tokens.
SLICE = 8 * 1024 * 1024

#: Bytes before the place up to which a file was read that tell whether it is still the same.
MARK = 2048

#: Files that are looked for in a folder.
MOST_FILES = 5_000

#: What a transcript claims of a session: no more than that.
ANSWERED = "answered"

#: Responses of a file that may still grow, or be written down again.
KEPT = 64


def note(db: Connection, entry: Entry) -> None:
    """Know of a transcript once it is named; have it read when there is more in it."""
    match entry.fact:
        case SessionStarted(session, _, path) | TranscriptFound(session, path):
            # A session says itself where its transcript is: no other's is taken for its own.
            with suppress(SessionUnknown):  # what is forgotten has none
                known = sessions.get(db, session)
                if is_named_after(known.agent, path, known.native_id or ""):
                    transcripts.add(db, session, path)
        case fact:
            transcripts.call_for(db, fact.session, entry.seq)


#: For the journal: what it shows to ``note``.
READER = Reader(
    frozenset(
        {
            *(SessionStarted, TranscriptFound, SessionRecovered),
            *(TurnEnded, ConversationLeft, SessionEnded),
        }
    ),
    note,
)


@dataclass(frozen=True, slots=True)
class Transcripts:
    database: Database
    journal: Journal
    prices: Mapping[str, Price]  #: by model; where there is none, nobody knows the cost
    #: One file at a time, and in a thread of its own: a disk may be slow.
    _limit: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def follow(self) -> None:
        """Read the transcripts that are due; for ever."""
        await Reconciler(
            name="Reading transcripts",
            clock=self.journal.clock,
            pending=partial(self.database.read, transcripts.due),
            step=self.catch_up,
            changed=partial(self.database.bells.of_kinds, READER.hears),
        ).run()

    async def catch_up(self, session: SessionId) -> bool:
        """Read what is new. False if nothing is due."""
        due = partial(transcripts.due_since, session=session)
        if (entry := await self.database.read(due)) is None:
            return False
        await self.journal.clock.sleep(SETTLE)
        while await self._read_on(session):
            pass
        await self.journal.clock.sleep(AGAIN)
        # Not what has called for it since: that is given its own time.
        while await self._read_on(session, settles=entry):
            pass
        return True

    async def _read_on(self, session: SessionId, *, settles: int = 0) -> bool:
        """Read and count a slice of each file. False if that was all."""
        work = await self.database.read(partial(_work, session=session))
        if work is None:
            return False
        read = partial(_read_files, work.session, work.files)
        slices = await anyio.to_thread.run_sync(
            read, abandon_on_cancel=True, limiter=self._limit
        )
        count = partial(self._count, work=work, slices=slices, settles=settles)
        return await self.database.write(count)

    def _count(
        self, db: Connection, work: Work, slices: Sequence[Slice], *, settles: int
    ) -> bool:
        """Report what was used, and remember how far that goes: both, or neither."""
        session = work.session.id
        if _work(db, session) is None or transcripts.of_session(db, session) != work.files:
            return False  # it was forgotten, or somebody else was here: from the beginning
        used: dict[int | None, list[Usage]] = defaultdict(list)
        for each in slices:
            transcripts.keep(db, session, each.progress)
            for usage in each.used:
                used[turns.at(db, session, usage.at)].append(usage)
        for turn, usages in used.items():
            self.journal.append(db, self._report(work.session, usages, turn))
        _note_last(db, session, [each for usages in used.values() for each in usages])
        is_done = all(each.is_last for each in slices)
        if is_done:
            transcripts.settle(db, session, settles)
        return not is_done

    def _report(
        self, session: Session, used: Sequence[Usage], turn: int | None
    ) -> UsageReported:
        costs = [cost for each in used if (cost := self._cost(each, session.model)) is not None]
        return UsageReported(
            session.id,
            sum(each.tokens.input for each in used),
            sum(each.tokens.output for each in used),
            round(sum(costs)) if costs else None,
            turn,
        )

    def _cost(self, usage: Usage, model: str) -> float | None:
        """Return micro-dollars: what so many tokens cost at dollars for a million."""
        if (price := self.prices.get(usage.model or model)) is None:
            return None
        tokens = usage.tokens
        fresh = max(0, tokens.input - tokens.cache_read - tokens.cache_write)
        read, written = (
            price.input if each is None else each
            for each in (price.cache_read, price.cache_write)
        )
        cached = read * tokens.cache_read + written * tokens.cache_write
        return price.input * fresh + cached + price.output * tokens.output


def _note_last(db: Connection, session: SessionId, used: Sequence[Usage]) -> None:
    """Keep when its model last answered, as its agent wrote it down: a sign of life."""
    if last := max(used, key=lambda each: each.at, default=None):
        detail = f"{last.model or 'its model'} has answered, {last.tokens.output} tokens"
        evidence.put(db, session, Evidence("transcript", ANSWERED, last.at, detail))


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to read of one session."""

    session: Session
    files: list[Progress]


@dataclass(frozen=True, slots=True)
class Slice:
    """What was read of one file."""

    progress: Progress
    used: Sequence[Usage]  #: since the last time
    is_last: bool


def _work(db: Connection, session: SessionId) -> Work | None:
    if transcripts.due_since(db, session) is None:
        return None
    return Work(sessions.get(db, session), transcripts.of_session(db, session))


def _read_files(session: Session, files: Sequence[Progress]) -> list[Slice]:
    """Read a slice of each file of a session, also of those that nobody knew of."""
    known = {each.path: each for each in files}
    found = [path for each in files for path in _subagents(session.agent, each.path)]
    new = (Progress(path, session.created_at) for path in found if path not in known)
    slices = (_read_file(session, each) for each in (*files, *new))
    return [each for each in slices if each]


def _subagents(agent: str, path: str) -> list[str]:
    """Name the transcripts of the subagents of the session that has this one."""
    folder = folder_of_subagents(agent, path)
    if folder is None or is_of_subagent(agent, path):
        return []
    try:
        with os.scandir(folder) as found:
            names = [each.name for each in islice(found, MOST_FILES)]
    except (OSError, ValueError):
        return []
    return sorted(str(folder / name) for name in names if is_of_subagent(agent, name))


def _read_file(session: Session, progress: Progress) -> Slice | None:
    """Read on where it was left, up to the last whole line. ``None`` if it cannot be read."""
    try:
        with opened(progress.path) as file:
            if _mark(file, progress.offset) != progress.mark:
                progress = _from_the_beginning(progress)
            text = os.pread(file, SLICE, progress.offset)
            is_last = len(text) < SLICE
            size = text.rfind(b"\n") + 1 or (0 if is_last else len(text))
            read, used = count(session, progress, text[:size].splitlines())
            end = progress.offset + size
            return Slice(replace(read, offset=end, mark=_mark(file, end)), used, is_last)
    except FileNotFoundError:
        return None  # agents write nothing before the first turn
    except (OSError, ValueError) as error:
        _log.warning("%r is not read: %s", progress.path, error)
        return None


def _mark(file: int, offset: int) -> str:
    """Digest what stands before a place: empty at the beginning."""
    size = min(MARK, offset)
    return hashlib.sha256(os.pread(file, size, offset - size)).hexdigest() if size else ""


def _from_the_beginning(progress: Progress) -> Progress:
    """Read a file that was written anew: what it says of the time before is counted already."""
    since = max(progress.since, progress.until or progress.since)
    return replace(progress, since=since, offset=0, mark="")


def count(
    session: Session, progress: Progress, lines: Iterable[bytes]
) -> tuple[Progress, list[Usage]]:
    """Say what the session used more than was counted before.

    What was used before it was made, or after it ended, is another's: a conversation may be
    resumed, and goes on in the same file.
    """
    seen, until, more = dict(progress.seen), progress.until, []
    end = session.ended_at or datetime.max.replace(tzinfo=UTC)
    for usage in (read_usage(session.agent, line) for line in lines):
        if usage is None:
            continue
        before = seen.pop(usage.id, None)
        if before is None and not progress.since < usage.at <= end:
            continue
        counted = before or Tokens()
        seen[usage.id] = most = tuple(map(max, counted, usage.tokens))
        added = Tokens(*(now - then for now, then in zip(most, counted, strict=True)))
        until = max(until or usage.at, usage.at)
        if any(added):
            more.append(replace(usage, tokens=added))
    kept = dict(list(seen.items())[-KEPT:])
    return replace(progress, until=until, seen=kept), more
