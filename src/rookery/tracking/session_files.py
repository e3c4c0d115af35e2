"""Watch the files in which an agent describes its live sessions, to find and correct them.

No hook reports an interruption or a denial at the keyboard; these files do, at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
from anyio.abc import TaskGroup
from watchfiles import awatch

from rookery import supervise
from rookery.agents.catalog import AGENTS
from rookery.model import beliefs
from rookery.model.beliefs import FileReport
from rookery.model.evidence import Evidence
from rookery.model.facts import BackgroundEnded, Outcome, SessionFound, SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.model.turn_texts import NO_ANSWER, Answer
from rookery.model.variables import SESSION_VARIABLE
from rookery.ports.transcript import SessionEntry, SessionFiles
from rookery.processes import Process, is_running, run_as, system
from rookery.processes.lineage import named_process
from rookery.sessions import adopt, record_end
from rookery.sessions.adopt import Arrival
from rookery.store import evidence, session_bindings, sessions, turns
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.corrections import Corrections, missed_facts
from rookery.tracking.real_folders import FolderResolver
from rookery.tracking.transcript_reader import TranscriptReader

_log = logging.getLogger(__name__)

#: Bytes read of one file; it has a few hundred.
MAX_FILE_BYTES = 64 * 1024

#: Seconds before a file that was read while being written is read again.
REREAD_PAUSE_S = 0.03

#: How often the last answer of a turn is looked for: Claude Code writes it a tenth of a second
#: after its file says that it is idle.
MAX_ANSWER_LOOKS = 10

#: Seconds between two looks for a folder that does not exist yet, and at processes that may
#: have been killed. Well below the time in which ``sessions.headless`` ends such a session
#: without knowing how its process ended.
FOLLOW_INTERVAL_S = 0.5

#: How long a process may still write its file after it has reported the end of its session.
MAX_EXIT_TIME = timedelta(seconds=30)

#: Milliseconds in which changes are batched, and between two checks for them.
DEBOUNCE_MS, STEP_MS = 30, 10


@dataclass(frozen=True, slots=True)
class TurnTexts:
    """The texts of turns, and the end of the last turn that was known when they were read."""

    answer: Answer
    last_end: datetime | None = None

    def still_new(self, db: Connection, session: SessionId) -> Answer:
        """Return the texts; without earlier turns if another source has reported a turn."""
        is_same = turns.last_end(db, session) == self.last_end
        return self.answer if is_same else replace(self.answer, earlier=())


NO_TEXTS = TurnTexts(NO_ANSWER)


@dataclass(frozen=True, slots=True)
class SessionFilesWatch:
    database: Database
    journal: Journal
    conversations: TranscriptReader
    corrections: Corrections
    agent: str
    files: SessionFiles
    interval_s: float = FOLLOW_INTERVAL_S
    #: The known live sessions, by their files.
    entries: dict[Path, SessionEntry] = field(default_factory=dict)
    folders: FolderResolver = field(default_factory=FolderResolver)

    async def watch(self, folders: Iterable[Path]) -> None:
        """Follow the files of these configuration folders. Runs for ever."""
        stop = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_when_cancelled, stop)
            for folder in folders:
                tasks.start_soon(self._follow, tasks, folder / self.files.folder, stop)

    async def _follow(self, tasks: TaskGroup, folder: Path, stop: anyio.Event) -> None:
        async def follow() -> None:
            # The agent creates the folder when it is first run with it.
            with suppress(FileNotFoundError):
                await self._read_files(tasks, _listed(folder))
                await self._wait_for_changes(tasks, folder, stop)

        name = f"Following the files in {folder}"
        await supervise.every(self.interval_s, follow, name=name, clock=self.journal.clock)

    async def _wait_for_changes(
        self, tasks: TaskGroup, folder: Path, stop: anyio.Event
    ) -> None:
        is_first = True
        async for changes in awatch(
            folder,
            recursive=False,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=stop,
            rust_timeout=int(self.interval_s * 1000),
            yield_on_timeout=True,
        ):
            changed = {Path(path) for _, path in changes}
            # The first time all files: one may have come just before this began to watch.
            await self._read_files(tasks, _listed(folder) if is_first else changed)
            await self._end_gone(folder)
            is_first = False

    async def _read_files(self, tasks: TaskGroup, paths: Iterable[Path]) -> None:
        for path in paths:
            try:
                if self.files.name.fullmatch(path.name) and (entry := await self._read(path)):
                    texts = await self._texts(entry)
                    named = system.variable(entry.pid, SESSION_VARIABLE) or ""
                    take_in = partial(self._record, entry=entry, texts=texts, named=named)
                    unsettled = await self.database.write(take_in)
                    self.entries[path] = entry
                    if unsettled:
                        tasks.start_soon(self.corrections.settle, unsettled)
            except (ValueError, ArithmeticError) as error:
                _log.warning("%s makes no sense: %s", path, error)

    async def _read(self, path: Path) -> SessionEntry | None:
        """Read a file, which may be written at the same time."""
        for _ in range(2):
            try:
                text = _text(path)
            except OSError:
                return None
            if entry := self.files.read(text):
                process = named_process(entry.pid, entry.started, run_as(AGENTS[self.agent]))
                if process is None:
                    return None
                folder = await self.folders.resolve(entry.cwd)
                return replace(entry, started=process.started, cwd=folder)
            await self.journal.clock.sleep(REREAD_PAUSE_S)
        return None

    async def _texts(self, entry: SessionEntry) -> TurnTexts:
        """Read the turns that started or ended according to a file, without hooks."""
        session = await self.database.read(partial(_find_unhooked, entry=entry))
        if session is None or entry.claim is None:
            return NO_TEXTS
        last_end = await self.database.read(partial(turns.last_end, session=session.id))
        answer = await self.conversations.reported_turns(
            self.database, session.id, entry.claim, tries=MAX_ANSWER_LOOKS
        )
        # Without a transcript, a dialog that is gone with its turn was probably denied.
        unread = Answer(how="interrupted") if session.is_asking else NO_ANSWER
        return TurnTexts(answer or unread, last_end)

    def _record(
        self, db: Connection, entry: SessionEntry, texts: TurnTexts, named: str
    ) -> FileReport | None:
        """Record the claim of a file. Returns a report to settle a moment later, if any.

        ``named`` is the session that the environment of the file's process names.
        """
        if _is_driven(db, named) or (found := self._find(db, entry)) is None:
            return None
        session = sessions.get(db, found)
        if entry.claim is None or session.status.is_over or session.is_driven:
            return None
        known, claim = evidence.known(db, session), entry.claim
        before = known.file
        claimed_before = Activity(before.claim) if before else None
        was_menu = before is not None and before.detail == self.files.menu
        report = FileReport(session.id, claim, claimed_before, was_menu)
        if before and before.at == claim.at:
            # A daemon that died before it settled this leaves it to the next one.
            is_unsettled = known.hook and claim.activity is Activity.IDLE
            return report if is_unsettled and missed_facts(db, report) else None
        reported = Evidence("registry", claim.activity, claim.at, claim.detail)
        evidence.put(db, session.id, reported)
        if known.hook is None:
            answer = texts.still_new(db, session.id)
            if beliefs.may_have_missed_turns(known, claim):
                self.journal.append(db, *answer.missed_by(session.id))
            self.corrections.correct(db, report, answer.added_to)
            return None
        if beliefs.has_background_ended(known, claim):
            self.journal.append(db, BackgroundEnded(session.id))
        return report if missed_facts(db, report) else None

    def _find(self, db: Connection, entry: SessionEntry) -> SessionId | None:
        """Return the session of a process; a new one if the process is unknown.

        ``None`` if its session has ended and the file reports nothing newer.
        """
        process = Process(entry.pid, entry.started).key
        existing = session_bindings.of_process(db, self.agent, process, entry.native_id)
        if existing:
            return existing
        ended_at = session_bindings.ended_at(db, self.agent, process, entry.native_id)
        if ended_at and (entry.claim is None or entry.claim.at < ended_at + MAX_EXIT_TIME):
            return None
        arrival = Arrival(
            agent=self.agent,
            native_id=entry.native_id,
            folder=entry.cwd,
            origin="registry",
            process=process,
        )
        session = adopt.adopt_session(db, self.journal, arrival)
        self.journal.append(db, SessionFound(session))
        return session

    async def _end_gone(self, folder: Path) -> None:
        """End the sessions whose processes are gone; a killed one leaves its file behind."""
        for path, entry in list(self.entries.items()):
            process = Process(entry.pid, entry.started)
            if path.parent == folder and not is_running(process):
                del self.entries[path]
                was_killed = path.exists()
                end = partial(self._end, process=process, was_killed=was_killed)
                await self.database.write(end)

    def _end(self, db: Connection, process: Process, *, was_killed: bool) -> None:
        session = session_bindings.holder_of_process(db, process.key)
        if session is None or not beliefs.is_end_believed(
            sessions.get(db, session), "registry"
        ):
            return
        outcome: Outcome = "failed" if was_killed else "completed"
        reason = "its program was killed" if was_killed else "its program ended"
        record_end.end(db, self.journal, session, outcome=outcome, reason=reason)


def _find_unhooked(db: Connection, entry: SessionEntry) -> Session | None:
    """Return the session whose file reports a turn's start or end, if no hook does."""
    if entry.claim is None:
        return None
    session = session_bindings.holder_of_process(db, Process(entry.pid, entry.started).key)
    if session is None:
        return None
    known = evidence.known(db, sessions.get(db, session))
    return known.session if beliefs.needs_transcript(known, entry.claim) else None


async def _set_when_cancelled(stop: anyio.Event) -> None:
    """Set the event at cancellation: ``awatch`` itself notices it only at its next timeout."""
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


def _listed(folder: Path) -> list[Path]:
    """Return the files in a folder. Raises ``FileNotFoundError``."""
    return [folder / name for name in os.listdir(folder)]  # noqa: PTH208 - names are enough


def _text(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_FILE_BYTES).decode(errors="replace")


def _is_driven(db: Connection, session: str) -> bool:
    """Return whether a session is driven: its stream reports all of it."""
    is_known = sessions.is_known(db, session)
    return is_known and sessions.get(db, SessionId(session)).is_driven
