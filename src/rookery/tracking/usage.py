"""Count the tokens in agents' transcripts, each response once."""

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
from rookery.tracking.transcript_files import opened

_log = logging.getLogger(__name__)

#: Seconds for an agent to write the end of a turn: Claude does so after its stop hook. And
#: the additional seconds that this may take on a busy machine, before a second read.
SETTLE, AGAIN = 1.0, 5.0


#: Bytes to read and count at once. A longer line contains no token counts.
MAX_SLICE_BYTES = 8 * 1024 * 1024

#: Bytes before the position up to which a file was read; they show whether it is the same.
MARK_BYTES = 2048

#: Maximum files to list in a folder.
MAX_LISTED_FILES = 5_000

#: The only claim that a transcript makes about a session.
ANSWERED = "answered"

#: Responses of a file to remember: they may still grow or be written again.
REMEMBERED_RESPONSES = 64


def note(db: Connection, entry: Entry) -> None:
    """Add a transcript once it is named; schedule reading it when it has grown."""
    match entry.fact:
        case SessionStarted(session, _, path) | TranscriptFound(session, path):
            # A session names its transcript itself: accept only a file named after it.
            with suppress(SessionUnknown):  # a pruned session has no transcript
                known = sessions.get(db, session)
                if is_named_after(known.agent, path, known.native_id or ""):
                    transcripts.add(db, session, path)
        case fact:
            transcripts.call_for(db, fact.session, entry.seq)


#: The reader of the journal that calls ``note``.
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
class UsageReader:
    database: Database
    journal: Journal
    prices: Mapping[str, Price]  #: by model; without a price the cost is unknown
    #: One file at a time, in a thread: a disk may be slow.
    _limit: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def follow(self) -> None:
        """Read the transcripts that are due, forever."""
        await Reconciler(
            name="Reading transcripts",
            clock=self.journal.clock,
            pending=partial(self.database.read, transcripts.due),
            step=self.catch_up,
            changed=partial(self.database.bells.of_kinds, READER.hears),
        ).run()

    async def catch_up(self, session: SessionId) -> bool:
        """Read new entries. Returns False if none are due."""
        due = partial(transcripts.due_since, session=session)
        if (entry := await self.database.read(due)) is None:
            return False
        await self.journal.clock.sleep(SETTLE)
        while await self._read_on(session):
            pass
        await self.journal.clock.sleep(AGAIN)
        # Not for entries since then: they get their own time to settle.
        while await self._read_on(session, settles=entry):
            pass
        return True

    async def _read_on(self, session: SessionId, *, settles: int = 0) -> bool:
        """Read and count a slice of each file. Returns False if that was all."""
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
        self, db: Connection, work: UsageFiles, slices: Sequence[UsageSlice], *, settles: int
    ) -> bool:
        """Report the usage and store how far the files were read, in one transaction."""
        session = work.session.id
        if _work(db, session) is None or transcripts.of_session(db, session) != work.files:
            return False  # pruned or changed meanwhile: start again
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
        """Return the cost in micro-dollars; prices are in dollars per million tokens."""
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
    """Store when the model last answered according to the transcript: a sign of life."""
    if last := max(used, key=lambda each: each.at, default=None):
        detail = f"{last.model or 'its model'} has answered, {last.tokens.output} tokens"
        evidence.put(db, session, Evidence("transcript", ANSWERED, last.at, detail))


@dataclass(frozen=True, slots=True)
class UsageFiles:
    """The files to read for one session."""

    session: Session
    files: list[Progress]


@dataclass(frozen=True, slots=True)
class UsageSlice:
    """What was read of one file."""

    progress: Progress
    used: Sequence[Usage]  #: since the last read
    is_last: bool


def _work(db: Connection, session: SessionId) -> UsageFiles | None:
    if transcripts.due_since(db, session) is None:
        return None
    return UsageFiles(sessions.get(db, session), transcripts.of_session(db, session))


def _read_files(session: Session, files: Sequence[Progress]) -> list[UsageSlice]:
    """Read a slice of each file of a session, including files found only now."""
    known = {each.path: each for each in files}
    found = [path for each in files for path in _subagents(session.agent, each.path)]
    new = (Progress(path, session.created_at) for path in found if path not in known)
    slices = (_read_file(session, each) for each in (*files, *new))
    return [each for each in slices if each]


def _subagents(agent: str, path: str) -> list[str]:
    """Return the transcripts of the subagents of the session with this transcript."""
    folder = folder_of_subagents(agent, path)
    if folder is None or is_of_subagent(agent, path):
        return []
    try:
        with os.scandir(folder) as found:
            names = [each.name for each in islice(found, MAX_LISTED_FILES)]
    except (OSError, ValueError):
        return []
    return sorted(str(folder / name) for name in names if is_of_subagent(agent, name))


def _read_file(session: Session, progress: Progress) -> UsageSlice | None:
    """Continue reading up to the last whole line. ``None`` if the file cannot be read."""
    try:
        with opened(progress.path) as file:
            if _mark(file, progress.offset) != progress.mark:
                progress = _restarted(progress)
            text = os.pread(file, MAX_SLICE_BYTES, progress.offset)
            is_last = len(text) < MAX_SLICE_BYTES
            size = text.rfind(b"\n") + 1 or (0 if is_last else len(text))
            read, used = count(session, progress, text[:size].splitlines())
            end = progress.offset + size
            return UsageSlice(replace(read, offset=end, mark=_mark(file, end)), used, is_last)
    except FileNotFoundError:
        return None  # agents write nothing before the first turn
    except (OSError, ValueError) as error:
        _log.warning("%r is not read: %s", progress.path, error)
        return None


def _mark(file: int, offset: int) -> str:
    """Return a digest of the bytes before a position; empty at the beginning."""
    size = min(MARK_BYTES, offset)
    return hashlib.sha256(os.pread(file, size, offset - size)).hexdigest() if size else ""


def _restarted(progress: Progress) -> Progress:
    """Restart with a rewritten file: usage up to the last counted time is skipped."""
    since = max(progress.since, progress.until or progress.since)
    return replace(progress, since=since, offset=0, mark="")


def count(
    session: Session, progress: Progress, lines: Iterable[bytes]
) -> tuple[Progress, list[Usage]]:
    """Return the usage of the session in addition to what was counted before.

    Usage before the session was created or after it ended belongs to another session: a
    resumed conversation continues in the same file.
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
    kept = dict(list(seen.items())[-REMEMBERED_RESPONSES:])
    return replace(progress, until=until, seen=kept), more
