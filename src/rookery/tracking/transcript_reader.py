"""Read the messages of a conversation from the end of its transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from rookery.agents.transcripts import (
    is_named_after,
    is_of_subagent,
    transcript_glob,
    without_repeats,
)
from rookery.model.evidence import Claim
from rookery.model.facts import How, SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.model.turn_texts import Answer
from rookery.ports.clock import Clock
from rookery.ports.transcript import Passage
from rookery.store import transcripts
from rookery.store.database import Database
from rookery.tracking import exchanges
from rookery.tracking.current_turns import CurrentTurn, current_turn, is_confirmed, reported
from rookery.tracking.exchanges import FINAL
from rookery.tracking.transcript_files import END, TimeSpan, passages
from rookery.tracking.transcript_passages import TranscriptRange, read_latest

T = TypeVar("T")

#: Maximum files of one session to read: the latest conversations.
MAX_FILES = 20

#: Seconds between two attempts to read the last message of a turn.
RETRY_SECONDS = 0.05

#: Attempts for a command of the program: it writes the output later than its other reports.
MAX_COMMAND_TRIES = 20

#: Attempts if the transcript has nothing of a turn that is over: on a busy machine, the agent
#: writes its first entries seconds later than its other reports.
MAX_PROMPT_TRIES = 60

#: Text that an agent writes later than this after its file reports idle is from another turn.
MAX_TEXT_DELAY = timedelta(seconds=0.1)


@dataclass(frozen=True, slots=True)
class LastEntry:
    """The last entry of a transcript."""

    path: str
    passage: Passage | None
    prompt: str = ""  #: of the current turn, if no hook has reported it
    is_new_path: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the entry shows how the turn ended."""
        return self.passage is not None and self.passage.kind in FINAL

    def answer(self, *, unfinished: How) -> Answer:
        """Return the texts of the turn. ``unfinished``: the outcome if the entry shows none."""
        if (last := self.passage) is None:
            return Answer(how=unfinished, prompt=self.prompt)
        words = last.text if last.kind in {"words", "error"} else ""
        return Answer(words, how=FINAL.get(last.kind, unfinished), prompt=self.prompt)


@dataclass(frozen=True, slots=True)
class TranscriptReader:
    #: The folders in which each agent keeps its transcripts.
    folders: Mapping[str, Sequence[Path]]
    clock: Clock
    #: One read at a time, in a thread: a disk may be slow, a file large. Bulk reads have their
    #: own limiter, so that they cannot delay end-of-turn checks.
    _turn_reads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    _bulk_reads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def answer(
        self,
        database: Database,
        session: SessionId,
        *,
        until: datetime | None = None,
        tries: int = 1,
    ) -> Answer | None:
        """Return the answer of a session's current turn, if no hook reports it.

        Reads the entries up to the time ``until``, and tries ``tries`` times. Returns ``None``
        if the transcript cannot be found.
        """
        last = await self.last_entry(database, session, until=until, tries=tries)
        if last is None:
            return None
        # A turn whose last entry is a tool has no answer, but has ended all the same.
        answer = last.answer(unfinished="finished")
        return replace(answer, path=last.path) if last.is_new_path else answer

    async def last_entry(
        self,
        database: Database,
        session: SessionId,
        *,
        until: datetime | None = None,
        tries: int = 1,
    ) -> LastEntry | None:
        """Return the last transcript entry of the current turn.

        Reads up to ``tries`` times, until the entry ends a turn. Returns ``None`` if the
        transcript cannot be found.
        """
        turn = await database.read(partial(current_turn, session=session))
        if not turn.has_transcript:
            return None
        if turn.is_command:
            tries = max(tries, MAX_COMMAND_TRIES)
        read = partial(self._read_end, turn, until or self.clock.now())
        last = await _in_thread(read, self._turn_reads)
        while last and tries > 1 and not last.is_final:
            tries -= 1
            await self.clock.sleep(RETRY_SECONDS)
            last = await _in_thread(read, self._turn_reads)
        return last

    async def observed_answer(self, database: Database, session: SessionId) -> Answer | None:
        """Return the answer of a turn whose end was observed, not reported.

        It is the answer to the turn's own prompt. Prompts that were typed by hand meanwhile are
        turns of their own. Returns ``None`` if the transcript has nothing of the turn.
        """
        turn = await database.read(partial(current_turn, session=session))
        if not turn.prompt:
            return await self.answer(database, session)
        path, found = await self._exchanges(turn)
        asked = exchanges.AskedTurn(turn.prompt, turn.started_at)
        # Without hooks, a new file (after /clear) is not known: this one may lack the turn.
        if not path or (not found and not asked.is_command):
            return None
        answer = exchanges.answer_of(found, asked)
        is_new = path != turn.session.transcript_path
        return replace(answer, path=path) if is_new else answer

    async def reported_turns(
        self, database: Database, session: SessionId, claim: Claim, *, tries: int
    ) -> Answer | None:
        """Return the texts of the turns that a session file reports, and that no hook does.

        Reads up to ``tries`` times, until the claim is confirmed: the agent writes its last
        message a moment later; more often if it has written nothing of the turn. Returns
        ``None`` if the transcript cannot be found.
        """
        turn = await database.read(partial(current_turn, session=session))
        until = claim.at + MAX_TEXT_DELAY if claim.activity is Activity.IDLE else None
        path, found = await self._exchanges(turn, until)
        # The transcript of a new conversation is written after its first turn has begun.
        tried = 1
        while turn.has_transcript and not is_confirmed(found, claim):
            is_missing = turn.is_open and claim.activity is Activity.IDLE and not found
            if tried >= (MAX_PROMPT_TRIES if is_missing else tries):
                break
            tried += 1
            await self.clock.sleep(RETRY_SECONDS)
            path, found = await self._exchanges(turn, until)
        if not path:
            return None
        answer = reported(turn, found, claim)
        return replace(answer, path=path) if path != turn.session.transcript_path else answer

    async def has_prompt(self, database: Database, session: SessionId) -> bool:
        """Return whether the transcript has the prompt of the current turn."""
        turn = await database.read(partial(current_turn, session=session))
        _, found = await self._exchanges(turn)
        asked = exchanges.AskedTurn(turn.prompt, turn.started_at)
        return exchanges.find(found, asked) is not None

    async def missed_answers(self, database: Database, session: SessionId) -> list[Answer]:
        """Return the ended turns in a transcript after the last known one, with prompts."""
        turn = await database.read(partial(current_turn, session=session))
        _, found = await self._exchanges(turn)
        answers = [each.answer for each in found if each.prompt]
        return [each for each in answers if not each.is_running]

    async def _exchanges(
        self, turn: CurrentTurn, until: datetime | None = None
    ) -> tuple[str, list[exchanges.PromptEntry]]:
        """Return the path of a transcript, and what it has since the last turn ended."""
        if not turn.has_transcript:
            return "", []
        read = partial(self._read_exchanges, turn, until or self.clock.now())
        return await _in_thread(read, self._turn_reads)

    def _read_exchanges(
        self, turn: CurrentTurn, until: datetime
    ) -> tuple[str, list[exchanges.PromptEntry]]:
        path = self.find(turn.session)
        if not path:
            return "", []
        span = TimeSpan(turn.window_start, until)
        found = list(passages(turn.session.agent, path, span, limit=END))[::-1]
        found = without_repeats(turn.session.agent, found)
        new = exchanges.since_turn(found, turn.last, ended_at=turn.since)
        return path, exchanges.divide(new)

    async def messages_of_turn(
        self, database: Database, session: SessionId, *, tries: int
    ) -> Sequence[str]:
        """Return all messages of the current turn in order; empty if it is not complete."""
        last = await self.last_entry(database, session, tries=tries)
        if last is None or last.passage is None or last.passage.kind != "words":
            return ()
        turn = await database.read(partial(current_turn, session=session))
        read = partial(_messages_of_turn, turn, last.path, self.clock.now())
        return await _in_thread(read, self._turn_reads)

    def _read_end(self, turn: CurrentTurn, until: datetime) -> LastEntry | None:
        """Return the last entry of a session's transcript, and the prompt."""
        session, span = turn.session, TimeSpan(turn.since, until)
        if not (path := self.find(session)):
            return None
        entries = passages(session.agent, path, span, limit=END)
        last = next(entries, None)
        if last and turn.is_output_of_earlier_command(last, entries):
            last = None
        turn_entries = [last, *entries] if last and not turn.prompt else []
        prompt_texts = [each.text for each in turn_entries if each.kind == "prompt"]
        is_new = path != session.transcript_path
        return LastEntry(path, last, "\n\n".join(reversed(prompt_texts)), is_new)

    def find(self, session: Session) -> str:
        """Return the path of a session's transcript; empty if it cannot be found."""
        native_id, known_path = session.native_id or "", session.transcript_path
        if is_named_after(session.agent, known_path, native_id):
            return known_path
        if not (place := transcript_glob(session.agent, native_id)):
            return ""
        folders = self.folders.get(session.agent, ())
        matches = [str(each) for folder in folders for each in folder.glob(place)]
        return matches[0] if len(matches) == 1 else ""  # several: the right one is unknown

    async def read(
        self, database: Database, session: Session, requested: TranscriptRange
    ) -> list[Passage]:
        """Return the latest passages for which there is room, the oldest first."""
        files = await database.read(partial(transcripts.of_session, session=session.id))
        latest = sorted(files, key=lambda each: each.until or each.since)
        names = [each.path for each in latest if not is_of_subagent(session.agent, each.path)]

        def found() -> list[Passage]:
            paths = names[-MAX_FILES:] or [path for path in (self.find(session),) if path]
            return read_latest(session.agent, paths, requested)

        return await _in_thread(found, self._bulk_reads)


def _messages_of_turn(turn: CurrentTurn, path: str, until: datetime) -> Sequence[str]:
    entries = list(passages(turn.session.agent, path, TimeSpan(turn.since, until), limit=END))
    return [each.text for each in reversed(entries) if each.kind == "words"]


async def _in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
