"""Turns what the runtime observes of sessions into facts."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import assert_never

import anyio

from rookery import supervise, terminal_jobs
from rookery.agents import shell
from rookery.model import beliefs, facts
from rookery.model.answers import NO_ANSWER, Answer
from rookery.model.beliefs import KnownSession
from rookery.model.errors import (
    CommitFailed,
    RuntimeFailed,
    ScreenUnread,
    SessionUnknown,
    StoreLost,
)
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.screens import Dialog, View, tail
from rookery.model.sessions import Session
from rookery.permissions import screen_dialogs
from rookery.permissions.decisions import Permissions
from rookery.ports.agent import Agent
from rookery.ports.runtime import (
    Changed,
    Exited,
    FellQuiet,
    Reported,
    Runtime,
    Sighting,
    Skipped,
    Vanished,
)
from rookery.sessions import endings
from rookery.store import evidence, sessions, turn_changes, turns
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.missed_stops import MissedStops
from rookery.tracking.transcript_reader import TranscriptReader

_log = logging.getLogger(__name__)

#: Seconds before a sighting that could not be recorded is retried.
ERROR_BACKOFF_S = 5.0


@dataclass(frozen=True, slots=True)
class ScreenWatch:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    conversations: TranscriptReader
    permissions: Permissions
    #: The start of the turn in which each session was last seen working.
    at_work: dict[SessionId, datetime] = field(default_factory=dict)

    async def watch(self) -> None:
        """Record the runtime's sightings, one after the other."""
        async with anyio.create_task_group() as tasks:
            async for sighting in self.runtime.watch():
                if await self._try_record(sighting):
                    continue
                if isinstance(sighting, Reported):
                    await self._retry(sighting)  # in order: later facts build on these
                else:
                    retry = partial(self._retry, sighting)
                    supervise.spawn(tasks, retry, name="Writing down later")

    async def _try_record(self, sighting: Sighting) -> bool:
        """Record a sighting. False if it must be retried: nothing would report it later."""
        is_written = False

        async def record() -> None:
            nonlocal is_written
            is_written = await self._record_or_defer(sighting)

        name = f"Writing down {sighting!r:.200}"
        if not await supervise.contained(record, name=name):
            # An internal error: only the end of a session is worth another try.
            return not isinstance(sighting, Exited | Vanished)
        return is_written or isinstance(sighting, Changed | FellQuiet)

    async def _record_or_defer(self, sighting: Sighting) -> bool:
        try:
            await self._record(sighting)
        except (CommitFailed, StoreLost, ScreenUnread) as error:
            # A full disk, for instance: the sighting may never come again once there is room.
            _log.warning("What was seen cannot be written down yet: %s", error)
            if isinstance(sighting, Changed | FellQuiet):
                self._request_report(sighting.session)
            return False
        except (RuntimeFailed, SessionUnknown):
            pass  # the session is gone; another sighting reports how
        return True

    async def _retry(self, sighting: Sighting) -> None:
        is_written = False
        while not is_written:
            await self.journal.clock.sleep(ERROR_BACKOFF_S)
            is_written = await self._try_record(sighting)

    def _request_report(self, session: SessionId) -> None:
        """Have the runtime report a session's screen once more."""
        with suppress(RuntimeFailed):
            self.runtime.terminal(session).report_changes(wanted=True, again=True)

    async def _record(self, sighting: Sighting) -> None:
        match sighting:
            case Exited() | Vanished():
                await self.database.write(lambda db: self._end(db, sighting))
            case Skipped(session):
                gap = facts.OutputMissed(session, "it printed faster than it could be read")
                await self.database.write(lambda db: self.journal.append(db, gap))
            case Changed(session):
                await self._read_screen(session)
            case FellQuiet(session):
                await self._note_quiet(session)
            case Reported(_, told):
                await self.database.write(lambda db: self.journal.append(db, *told))
            case _:
                assert_never(sighting)

    def _end(self, db: Connection, sighting: Exited | Vanished) -> None:
        session = sessions.get(db, sighting.session)
        if session.is_in_user_pane:
            # The exit status of a program that Rookery did not start cannot be read.
            has_pane = isinstance(sighting, Exited)
            gone = "its program ended" if has_pane else "its pane is gone"
            endings.end(db, self.journal, session.id, outcome="completed", reason=gone)
            return
        if isinstance(sighting, Vanished):
            endings.end(
                db, self.journal, session.id, outcome="failed", reason="its tmux pane is gone"
            )
            return
        reason = how_it_ended(sighting)
        is_early = session.status is Status.STARTING
        if is_early or sighting.code != 0:
            said = tail(sighting.screen)
            reason = f"{reason}; it said last:\n{said}" if said else reason
        well = sighting.code == 0 and not is_early
        outcome: facts.Outcome = "completed" if well else "failed"
        endings.end(db, self.journal, session.id, outcome=outcome, reason=reason)

    async def _read_screen(self, session_id: SessionId) -> None:
        """Read from the screen what no hook reports: that it is up, or that it asks first."""
        known, agent = await self._look_up(session_id)
        terminal = self.runtime.terminal(session_id)
        if beliefs.needs_no_screen(known, has_screen=agent.screen is not None):
            terminal.report_changes(wanted=False)
        elif not beliefs.is_changing_screen_believed(known):
            pass  # it is read again once it is quiet
        elif agent.screen is None:
            if tail(await terminal.read()):
                await self._record_view(session_id, PRINTED)
        else:
            view = await terminal.view()
            has_start_hook = agent.hooks is not None and agent.hooks.traits.tells_start
            if beliefs.is_view_believed(known.session, view, has_start_hook=has_start_hook):
                await self._record_view(session_id, view)

    async def _look_up(self, session: SessionId) -> tuple[KnownSession, Agent]:
        known = await self.database.read(partial(_known, session=session, agents=self.agents))
        return known, self.agents[known.session.agent]

    async def _record_view(self, session: SessionId, view: View) -> None:
        if view.dialog and await self._is_lingering(session, view.dialog):
            # If it is a new dialog that looks the same, the next check still finds it.
            self._request_report(session)
            return
        tell = partial(self._write_view, session=session, view=view)
        if await self.database.write(tell):
            await self.database.write(partial(tell, answer=await self._answer(session)))

    async def _is_lingering(self, session: SessionId, dialog: Dialog) -> bool:
        now = self.journal.clock.now()
        look = partial(screen_dialogs.is_lingering, session=session, dialog=dialog, now=now)
        return await self.database.read(look)

    async def _answer(self, session: SessionId) -> Answer:
        """Return a turn's answer that no hook reports: from the transcript, or the screen."""
        if answer := await self.conversations.answer(self.database, session):
            return answer
        found = await self.database.read(partial(sessions.get, session=session))
        screen = self.agents[found.agent].screen
        if screen is None or (speech := screen.speech) is None:
            return NO_ANSWER
        last = await self.database.read(partial(turns.of_session, session=session, last=1))
        lines = await self.runtime.terminal(session).read(history=True)
        is_asked = bool(last and last[0].prompt)
        prompt = "" if is_asked else speech.last_prompt(lines)
        how: facts.How = "interrupted" if speech.shows_interruption(lines) else "finished"
        return Answer(speech.last_answer(lines), how=how, prompt=prompt)

    def _write_view(
        self, db: Connection, session: SessionId, view: View, answer: Answer | None = None
    ) -> bool:
        """Record what a screen shows. True if the caller must first read the turn's answer."""
        now = sessions.get(db, session)
        was_working = self._is_known_to_work(db, now, view)
        told = beliefs.shown_facts(now, view, was_working=was_working)
        if answer is None and any(isinstance(each, facts.TurnEnded) for each in told):
            return True
        if view.dialog and now.status in ASKABLE:
            screen_dialogs.note(db, self.permissions, now, view.dialog)
            return False
        self.journal.append(db, *(answer or NO_ANSWER).added_to(told))
        if told:
            shown = "its input box" if view.is_resting else "its screen"
            at = self.journal.clock.now()
            evidence.note_state(db, session, "screen", at=at, detail=shown)
        return False

    def _is_known_to_work(self, db: Connection, session: Session, view: View) -> bool:
        """Return whether the current turn was seen running; right after Enter it was not."""
        last = turns.of_session(db, session.id, last=1)
        if last and session.activity is not Activity.IDLE and (view.is_working or view.dialog):
            self.at_work[session.id] = last[0].started_at
        return bool(last) and self.at_work.get(session.id) == last[0].started_at

    async def _note_quiet(self, session_id: SessionId) -> None:
        known, agent = await self._look_up(session_id)
        session = known.session
        if beliefs.needs_no_screen(known, has_screen=agent.screen is not None):
            self.runtime.terminal(session_id).report_changes(wanted=False)
        if agent.screen is None:
            if session.activity in {None, Activity.WORKING}:
                await self._end_quiet_turn(session)
        elif session.started_at is None:
            await self._record_view(session_id, await self.runtime.terminal(session_id).view())
        elif session.activity is not None and not beliefs.file_reports_activity(known):
            # The screen of a working agent changes all the time. A quiet one was interrupted at
            # the keyboard, which Claude's hooks do not report, or it asks something.
            view = await self.runtime.terminal(session_id).view()
            if view.dialog:
                # Its hook was lost, or never sent.
                await self._record_view(session_id, view)
            elif view.is_resting and session.activity is not Activity.IDLE:
                is_hooked = beliefs.hooks_report_turns(known)
                answer = NO_ANSWER if is_hooked else await self._answer(session_id)
                missed = MissedStops(self.database, self.conversations)
                ending = await missed.ending(session_id) if is_hooked else ()
                end = partial(
                    self._end_turn, session=session_id, view=view, answer=answer, ending=ending
                )
                await self.database.write(end)

    def _end_turn(
        self,
        db: Connection,
        session: SessionId,
        view: View,
        answer: Answer,
        ending: Sequence[facts.Fact],
    ) -> None:
        if self._has_just_begun(db, session) or turn_changes.is_paused(db, session):
            return  # a prompt has just come, or background subagents work unseen
        known = _known(db, session, self.agents)
        was_working = self._is_known_to_work(db, known.session, view)
        if ended := beliefs.end_on_quiet_screen(known, view, was_working=was_working):
            self.journal.append(db, *(ending or answer.added_to([ended])))

    def _has_just_begun(self, db: Connection, session: SessionId) -> bool:
        last = turns.of_session(db, session, last=1)
        return bool(last) and self.journal.clock.now() - last[0].started_at < YOUNGEST

    async def _end_quiet_turn(self, session: Session) -> None:
        session_id = session.id
        if session.activity is Activity.WORKING and await self._runs_command(session):
            self._request_report(session_id)  # once the command is done
            return
        printed = await self.runtime.terminal(session_id).printed()

        def note(db: Connection) -> None:
            now = sessions.get(db, session_id)
            if now.status is Status.STARTING:
                self.journal.append(db, facts.SessionStarted(session_id))
            elif now.activity is Activity.WORKING:
                if self._has_just_begun(db, session_id):
                    return  # the quiet was before this turn; its own is still to come
                (turn,) = turns.of_session(db, session_id, last=1)
                said = shell.answer(printed, turn.prompt)
                self.journal.append(db, facts.TurnEnded(session_id, said))

        await self.database.write(note)

    async def _runs_command(self, session: Session) -> bool:
        """Return whether a shell waits for a command, however quiet that is."""
        place = (await self.runtime.find()).get(session.tmux_session or "")
        front = terminal_jobs.group_in_front(place.pid) if place else None
        if place is None or front is None:
            return False
        return await asyncio.to_thread(terminal_jobs.is_at_work, place.pid, front)


def _known(db: Connection, session: SessionId, agents: Mapping[str, Agent]) -> KnownSession:
    found = sessions.get(db, session)
    return evidence.known(db, found, agents[found.agent])


#: The minimum duration of a turn whose end is observed, not reported.
YOUNGEST = timedelta(seconds=0.5)

#: The view of a program without an input box once it has printed something.
PRINTED = View(box="")


#: Statuses in which a person can answer a dialog of the session.
ASKABLE = frozenset({Status.STARTING, Status.RUNNING})


def how_it_ended(exited: Exited) -> str:
    if exited.signal is not None:
        return f"it was killed by {_signal_name(exited.signal)}"
    if exited.code is not None:
        return f"it exited with status {exited.code}"
    return "it ended, and nobody could tell how"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
