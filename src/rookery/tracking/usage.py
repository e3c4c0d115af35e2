"""Count the tokens in agents' transcripts, each response once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from sqlite3 import Connection

import anyio

from rookery.agents.transcripts import is_named_after
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
from rookery.ports.transcript import Usage
from rookery.store import evidence, sessions, transcripts, turns
from rookery.store.database import Database
from rookery.store.journal import Entry, Journal, Reader
from rookery.store.transcripts import Progress
from rookery.supervise import Reconciler
from rookery.tracking.prices import Prices, cost_of, find_price
from rookery.tracking.usage_files import MAX_SLICE_BYTES, UsageSlice, read_files

#: Seconds for an agent to write the end of a turn: Claude does so after its stop hook.
SETTLE_S = 1.0

#: Additional seconds that this may take on a busy machine, before a second read.
REREAD_S = 5.0

#: The only claim that a transcript makes about a session.
ANSWERED = "answered"


def note(db: Connection, entry: Entry) -> None:
    """Add a transcript once it is named; schedule reading it when it has grown."""
    match entry.fact:
        case SessionStarted(session, _, path) | TranscriptFound(session, path):
            # A session names its transcript itself: accept only a file named after it.
            with suppress(SessionUnknown):  # a pruned session has no transcript
                known = sessions.get(db, session)
                if not known.is_driven and is_named_after(
                    known.agent, path, known.native_id or ""
                ):
                    transcripts.add(db, session, path)
        case fact:
            transcripts.call_for(db, fact.session, entry.seq)


#: The reader of the journal that calls ``note``.
READER = Reader(
    frozenset(
        {
            SessionStarted,
            TranscriptFound,
            SessionRecovered,
            TurnEnded,
            ConversationLeft,
            SessionEnded,
        }
    ),
    note,
)


@dataclass(frozen=True, slots=True)
class UsageReader:
    database: Database
    journal: Journal
    prices: Prices  #: without a price the cost is unknown
    slice_bytes: int = MAX_SLICE_BYTES  #: to read of each file at once
    #: One file at a time, in a thread: a disk may be slow.
    _limit: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def follow(self) -> None:
        """Read the transcripts that are due, forever."""
        await Reconciler(
            name="Reading transcripts",
            clock=self.journal.clock,
            pending=partial(self.database.peek, transcripts.due),
            step=self.catch_up,
            changed=partial(self.database.bells.of_kinds, READER.hears),
        ).run()

    async def catch_up(self, session: SessionId) -> bool:
        """Read new entries. Returns False if none are due."""
        due = partial(transcripts.due_since, session=session)
        if (entry := await self.database.read(due)) is None:
            return False
        await self.journal.clock.sleep(SETTLE_S)
        while await self._read_on(session):
            pass
        await self.journal.clock.sleep(REREAD_S)
        # Not for entries since then: they get their own time to settle.
        while await self._read_on(session, settles=entry):
            pass
        return True

    async def _read_on(self, session: SessionId, *, settles: int = 0) -> bool:
        """Read and count a slice of each file. Returns False if that was all."""
        work = await self.database.read(partial(_work, session=session))
        if work is None:
            return False
        read = partial(read_files, work.session, work.files, self.slice_bytes)
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
        everything = [each for usages in used.values() for each in usages]
        context = _context(everything)
        for turn, usages in used.items():
            self.journal.append(db, self._report(work.session, usages, turn, context))
        _note_last(db, session, everything)
        is_done = all(each.is_last for each in slices)
        if is_done:
            transcripts.settle(db, session, settles)
        return not is_done

    def _report(
        self, session: Session, used: Sequence[Usage], turn: int | None, context: int
    ) -> UsageReported:
        costs = [cost for each in used if (cost := self._cost(each, session.model)) is not None]
        return UsageReported(
            session.id,
            sum(each.tokens.input for each in used),
            sum(each.tokens.output for each in used),
            round(sum(costs)) if costs else None,
            turn,
            estimated=bool(costs),
            cache_read=sum(each.tokens.cache_read for each in used),
            cache_write=sum(each.tokens.cache_write for each in used),
            context=context,
        )

    def _cost(self, usage: Usage, model: str) -> float | None:
        price = find_price(self.prices, usage.model or model)
        return None if price is None else cost_of(usage.tokens, price)


def _context(used: Sequence[Usage]) -> int:
    """Return the size of the context after the last response; 0 if none was of the session."""
    own = (each for each in used if each.context)
    last = max(own, key=lambda each: each.at, default=None)
    return last.context if last else 0


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


def _work(db: Connection, session: SessionId) -> UsageFiles | None:
    if transcripts.due_since(db, session) is None:
        return None
    return UsageFiles(sessions.get(db, session), transcripts.of_session(db, session))
