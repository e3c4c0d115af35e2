"""Read from an agent's screen what no better source reports: starts, dialogs, ends of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection

from rookery.agents import shell
from rookery.model import beliefs
from rookery.model.beliefs import KnownSession
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import Fact, How, SessionId, SessionStarted, TurnEnded
from rookery.model.lifecycle import Activity, Status
from rookery.model.screens import Dialog, View, squeeze, tail
from rookery.model.sessions import Session
from rookery.model.turn_texts import NO_ANSWER, Answer, missed_turns
from rookery.permissions import screen_dialogs
from rookery.permissions.decisions import Permissions
from rookery.ports.agent import Agent, SpeechDialect
from rookery.ports.runtime import Runtime
from rookery.store import evidence, sessions, turn_changes, turns
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.missed_stops import missed_end
from rookery.tracking.transcript_reader import TranscriptReader

#: The minimum duration of a turn whose end is observed, not reported.
MIN_OBSERVED_TURN = timedelta(seconds=0.5)

#: For how long a turn that was not seen running may wait for its agent to take up its prompt.
UNSTARTED_TIMEOUT = timedelta(seconds=20)

#: The view of a program without an input box once it has printed something.
PRINTED = View(box="")

#: Statuses in which a person can answer a dialog of the session.
ASKABLE = frozenset({Status.STARTING, Status.RUNNING})


@dataclass(frozen=True, slots=True)
class ScreenReader:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    conversations: TranscriptReader
    permissions: Permissions
    #: The start of the turn in which each session was last seen working.
    at_work: dict[SessionId, datetime] = field(default_factory=dict)

    def request_report(self, session: SessionId) -> None:
        """Have the runtime report a session's screen once more."""
        with suppress(RuntimeFailed):
            self.runtime.terminal(session).report_changes(wanted=True, again=True)

    async def read_changed(self, session_id: SessionId) -> None:
        """Read a screen that has changed: the agent may be up, or it asks something first."""
        known, agent = await self._look_up(session_id)
        terminal = self.runtime.terminal(session_id)
        if beliefs.needs_no_screen(known, has_screen=agent.screen is not None):
            terminal.report_changes(wanted=False)
        elif not beliefs.is_changing_screen_believed(known):
            pass  # ``read_quiet`` reads it once it has stopped changing
        elif agent.screen is None:
            if tail(await terminal.read()):
                await self._record_view(session_id, PRINTED)
        else:
            view = await terminal.view()
            has_start_hook = agent.hooks is not None and agent.hooks.traits.reports_start
            if beliefs.is_view_believed(known.session, view, has_start_hook=has_start_hook):
                await self._record_view(session_id, view)

    async def _look_up(self, session: SessionId) -> tuple[KnownSession, Agent]:
        known = await self.database.read(partial(self._read_known, session=session))
        return known, self.agents[known.session.agent]

    def _read_known(self, db: Connection, session: SessionId) -> KnownSession:
        current = sessions.get(db, session)
        return evidence.known(db, current, self.agents[current.agent])

    async def _record_view(self, session: SessionId, view: View) -> None:
        if view.dialog and await self._is_lingering(session, view.dialog):
            # If it is a new dialog that looks the same, the next check still finds it.
            self.request_report(session)
            return
        write = partial(self._write_view, session=session, view=view)
        if await self.database.write(write):
            await self.database.write(partial(write, answer=await self._answer(session)))

    async def _is_lingering(self, session: SessionId, dialog: Dialog) -> bool:
        now = self.journal.clock.now()
        look = partial(screen_dialogs.is_lingering, session=session, dialog=dialog, now=now)
        return await self.database.read(look)

    async def _answer(self, session: SessionId) -> Answer:
        """Return a turn's answer that no hook reports: from the transcript, or the screen."""
        if answer := await self.conversations.observed_answer(self.database, session):
            return answer
        current = await self.database.read(partial(sessions.get, session=session))
        if (speech := self._speech(current)) is None:
            return NO_ANSWER
        last = await self.database.read(partial(turns.of_session, session=session, last=1))
        lines = await self.runtime.terminal(session).read(history=True)
        asked, shown = last[0].prompt if last else "", speech.last_prompt(lines)
        if asked and shown and not _begins(asked, shown):
            return NO_ANSWER  # what is shown is older than this turn, as after a resume
        prompt = "" if asked else shown
        how: How = "interrupted" if speech.shows_interruption(lines) else "finished"
        return Answer(speech.last_answer(lines), how=how, prompt=prompt)

    def _write_view(
        self, db: Connection, session: SessionId, view: View, answer: Answer | None = None
    ) -> bool:
        """Record what a screen shows. True if the caller must first read the turn's answer."""
        now = sessions.get(db, session)
        was_working = self._is_known_to_work(db, now, view)
        facts = beliefs.shown_facts(now, view, was_working=was_working)
        if answer is None and any(isinstance(each, TurnEnded) for each in facts):
            return True
        if view.dialog and now.status in ASKABLE:
            screen_dialogs.note(db, self.permissions, now, view.dialog)
            return False
        self.journal.append(db, *(answer or NO_ANSWER).added_to(facts))
        if facts:
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

    async def read_quiet(self, session_id: SessionId) -> None:
        """Read a screen that has stopped changing: the agent is idle or asks something."""
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
            await self._read_idle(known)

    async def _read_idle(self, known: KnownSession) -> None:
        """Read the quiet screen of an agent that is up.

        The screen of a working agent changes all the time. A quiet one shows a dialog or the
        end of a turn: an interruption at the keyboard or, without hooks, any end.
        """
        session = known.session
        view = await self.runtime.terminal(session.id).view()
        if view.dialog:
            # Its hook was lost, or never sent.
            await self._record_view(session.id, view)
        elif view.is_resting and session.activity is not Activity.IDLE:
            await self._end_turn(known, view)
        elif view.is_resting and not beliefs.hooks_report_turns(known):
            await self._record_missed_turns(session.id)

    async def _end_turn(self, known: KnownSession, view: View) -> None:
        """End the turn of a session whose quiet screen shows that it is idle."""
        session, answer = known.session.id, NO_ANSWER
        ending: Sequence[Fact] = ()
        if beliefs.hooks_report_turns(known):
            ending = await missed_end(self.database, self.conversations, session)
        elif await self._may_be_unstarted(known.session, view):
            self.request_report(session)
            return
        else:
            answer = await self._answer(session)

        def end(db: Connection) -> None:
            if self._has_just_begun(db, session) or turn_changes.is_paused(db, session):
                return  # a prompt has just come, or background subagents work unseen
            now = self._read_known(db, session)
            was_working = self._is_known_to_work(db, now.session, view)
            if ended := beliefs.end_on_quiet_screen(now, view, was_working=was_working):
                self.journal.append(db, *(ending or answer.added_to([ended])))

        await self.database.write(end)
        if any(each.is_running for each in answer.others):
            self.request_report(session)  # its end may leave the screen quiet

    async def _may_be_unstarted(self, session: Session, view: View) -> bool:
        """Return whether an idle agent may still take up the prompt of the current turn.

        It was not seen working, its transcript has no such prompt, and its screen shows an
        older one. An agent that loads a conversation or its tools keeps the prompt meanwhile.
        """
        at, speech = self.journal.clock.now(), self._speech(session)
        last = await self.database.read(partial(turns.of_session, session=session.id, last=1))
        if speech is None or not last or not last[0].prompt or last[0].prompt.startswith("/"):
            return False
        was_working = self.at_work.get(session.id) == last[0].started_at
        if was_working or view.box or at - last[0].started_at > UNSTARTED_TIMEOUT:
            return False
        if await self.conversations.has_prompt(self.database, session.id):
            return False
        lines = await self.runtime.terminal(session.id).read(history=True)
        shown = speech.last_prompt(lines)
        return bool(shown) and not _begins(last[0].prompt, shown)

    def _speech(self, session: Session) -> SpeechDialect | None:
        screen = self.agents[session.agent].screen
        return screen.speech if screen else None

    async def _record_missed_turns(self, session: SessionId) -> None:
        """Record turns that ended before the screen was read, as with typed prompts."""
        missed = await self.conversations.missed_answers(self.database, session)
        ended_at = await self.database.read(partial(turns.last_end, session=session))

        def record(db: Connection) -> None:
            is_same = turns.last_end(db, session) == ended_at
            if is_same and sessions.get(db, session).activity is Activity.IDLE:
                self.journal.append(db, *missed_turns(session, missed))

        if missed:
            await self.database.write(record)

    def _has_just_begun(self, db: Connection, session: SessionId) -> bool:
        last = turns.of_session(db, session, last=1)
        return bool(last) and self.journal.clock.now() - last[0].started_at < MIN_OBSERVED_TURN

    async def _end_quiet_turn(self, session: Session) -> None:
        """Record that a program without a readable screen is up, or that its turn is over."""
        session_id = session.id
        printed = await self.runtime.terminal(session_id).printed()
        if session.activity is Activity.WORKING and not printed.is_complete:
            self.request_report(session_id)  # once the command is done
            return

        def note(db: Connection) -> None:
            now = sessions.get(db, session_id)
            if now.status is Status.STARTING:
                self.journal.append(db, SessionStarted(session_id))
            elif now.activity is Activity.WORKING:
                if self._has_just_begun(db, session_id) or not printed.is_complete:
                    return  # the screen was quiet before this turn began
                (turn,) = turns.of_session(db, session_id, last=1)
                answer = shell.answer(printed, turn.prompt)
                self.journal.append(db, TurnEnded(session_id, answer))

        await self.database.write(note)


def _begins(prompt: str, shown: str) -> bool:
    """Return whether a prompt begins with what the screen shows of the last one."""
    return squeeze(prompt).startswith(squeeze(shown))
