"""Correct a session's state from the agent's session file where hooks differ or are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from typing import TypeAlias

from rookery import supervise
from rookery.model import beliefs
from rookery.model.beliefs import DialogState, FileReport
from rookery.model.errors import SessionUnknown
from rookery.model.facts import Fact, TurnEnded
from rookery.model.lifecycle import Activity
from rookery.model.turn_texts import Answer
from rookery.sessions.headless_names import rename_after_prompt
from rookery.store import dialogs, evidence, sessions, turn_changes
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.missed_stops import missed_end
from rookery.tracking.transcript_reader import MAX_TEXT_DELAY, TranscriptReader

#: Adds to observed facts what the agent recorded about them.
Amend: TypeAlias = Callable[[Iterable[Fact]], list[Fact]]


@dataclass(frozen=True, slots=True)
class Corrections:
    database: Database
    journal: Journal
    conversations: TranscriptReader

    async def settle(self, report: FileReport) -> None:
        """Apply the claim of a session file, unless a hook reports the same in time."""
        clock = self.journal.clock
        await clock.sleep(beliefs.GRACE_S)
        believe = partial(self._believe, report)
        await supervise.until_done(believe, name="Correcting by a session file", clock=clock)

    async def _believe(self, report: FileReport) -> None:
        with suppress(SessionUnknown):  # it was deleted meanwhile
            grace_s = await self.database.read(partial(_grace_s, report=report))
            await self.journal.clock.sleep(grace_s)
            amend = await self._amendment(report)
            await self.database.write(partial(self.correct, report=report, amend=amend))

    async def _amendment(self, report: FileReport) -> Amend:
        """Read what the agent recorded about the claim of its file, outside of any transaction.

        If no prompt is recorded, the program may be busy for a moment without a turn. Then its
        file soon makes another claim, and ``correct`` drops this one.
        """
        activity, session = report.claim.activity, report.session
        if activity is Activity.IDLE:
            until = report.claim.at + MAX_TEXT_DELAY
            ending = await missed_end(self.database, self.conversations, session, until=until)
            return partial(_with_ending, ending=ending)
        if activity is Activity.WORKING:
            last = await self.conversations.last_entry(self.database, session)
            if last and not last.prompt:
                await self.journal.clock.sleep(self._unprompted_s(report))
            return Answer(prompt=last.prompt if last else "").added_to
        return list

    def _unprompted_s(self, report: FileReport) -> float:
        """Return for how many more seconds an agent without a prompt may count as idle."""
        busy_s = (self.journal.clock.now() - report.claim.at).total_seconds()
        return max(beliefs.UNPROMPTED_S - busy_s, 0.0)

    def correct(self, db: Connection, report: FileReport, amend: Amend = list) -> None:
        """Record what must have happened, if the file still makes the same claim."""
        known = evidence.known(db, sessions.get(db, report.session))
        if known.file is None or known.file.at != report.claim.at:
            return  # the file makes another claim by now
        for each in amend(missed_facts(db, report)):
            self.journal.append(db, each)
            rename_after_prompt(db, self.journal, each)


def missed_facts(db: Connection, report: FileReport) -> list[Fact]:
    """Return what must have happened, if a file differs from the session's recorded state."""
    session = sessions.get(db, report.session)
    dialog = DialogState(
        has_turn=not report.was_menu or bool(turn_changes.open_turns(db, session.id)),
        is_of_subagent=session.is_asking and dialogs.is_asked_by_subagent(db, session.id),
    )
    return beliefs.missed_facts(evidence.known(db, session), report, dialog)


def _grace_s(db: Connection, report: FileReport) -> float:
    known = evidence.known(db, sessions.get(db, report.session))
    may_go_on = turn_changes.may_go_on(db, report.session)
    return beliefs.hook_grace_s(known, report.claim, may_go_on=may_go_on)


def _with_ending(facts: Iterable[Fact], ending: Sequence[Fact]) -> list[Fact]:
    """Replace an observed end of a turn by the end that the transcript reports."""
    corrected = list[Fact]()
    for fact in facts:
        corrected += ending if isinstance(fact, TurnEnded) else [fact]
    return corrected
