"""Correct a session's state by the agent's own file where its hooks differ or are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection
from typing import TypeAlias

from rookery import supervise
from rookery.model import evidence as evidence_model
from rookery.model.errors import SessionUnknown
from rookery.model.evidence import Claim, KnownState
from rookery.model.facts import EvidenceDisagreed, Fact, SessionId, TurnEnded, TurnStarted
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.sessions.prompt_names import rename_after_prompt
from rookery.store import dialogs, evidence, sessions, turn_changes
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.missed_stops import MissedStops
from rookery.tracking.transcript_reader import Answer, TranscriptReader

#: Seconds for a hook to report what a file already says; then the file is believed.
GRACE_S = 0.15

#: Seconds for an agent to continue by itself: with prompts that were typed during its last
#: turn, or with the report of a background subagent.
BETWEEN_TURNS_S = 5.0

#: Seconds for the hook of a prompt, where hooks report prompts. An agent also seems to work
#: while it clears its conversation.
PROMPT_HOOK_S = 1.0

#: Text that an agent writes later than this after its file says idle is of another turn.
LATE = timedelta(seconds=0.1)

#: Adds to observed facts what the agent recorded about them.
Amend: TypeAlias = Callable[[Iterable[Fact]], list[Fact]]


@dataclass(frozen=True, slots=True)
class FileDoubt:
    """A file that differs from what hooks have reported so far."""

    session: SessionId
    claim: Claim
    said_before: Activity | None
    was_menu: bool = False  #: the file said before that a menu of the program was open


@dataclass(frozen=True, slots=True)
class Corrections:
    database: Database
    journal: Journal
    conversations: TranscriptReader

    async def settle(self, doubt: FileDoubt) -> None:
        """Believe the file, unless a hook reports the same in time."""
        clock = self.journal.clock
        await clock.sleep(GRACE_S)
        believe = partial(self._believe, doubt)
        await supervise.until_done(believe, name="Believing a registry file", clock=clock)

    async def _believe(self, doubt: FileDoubt) -> None:
        await self.journal.clock.sleep(await self.database.read(partial(_grace_s, doubt=doubt)))
        with suppress(SessionUnknown):  # it was deleted meanwhile
            if amend := await self._amendment(doubt):
                await self.database.write(partial(self.correct, doubt=doubt, amend=amend))

    async def _amendment(self, doubt: FileDoubt) -> Amend | None:
        """Read what the agent recorded about the claim of its file, outside of any transaction.

        ``None`` if that shows that no turn has begun: the program does something of its own.
        """
        activity, session = doubt.claim.activity, doubt.session
        if activity is Activity.IDLE:
            ending = await MissedStops(self.database, self.conversations).ending(
                session, until=doubt.claim.at + LATE
            )
            return partial(_with_ending, ending=ending)
        if activity is Activity.WORKING:
            last = await self.conversations.said_last(self.database, session)
            if last and not last.prompt:
                return None
            return Answer(prompt=last.prompt if last else "").added_to
        return list

    def correct(self, db: Connection, doubt: FileDoubt, amend: Amend = list) -> None:
        """Record what must have happened, if the file still says so."""
        last = evidence.last(db, doubt.session, "registry")
        if last is None or last.at != doubt.claim.at:
            return  # it says something else by now
        if fact := self.of(db, doubt):
            session = sessions.get(db, doubt.session)
            if evidence.last(db, session.id, "hook"):
                self.journal.append(db, _disagreement(session, doubt.claim))
            told = [fact]
            if (
                session.activity is Activity.IDLE
                and doubt.claim.activity is Activity.PERMISSION
            ):
                # It asks only during a turn, whose start was too short to be seen.
                told.insert(0, TurnStarted(session.id, ""))
            for each in amend(told):
                self.journal.append(db, each)
                rename_after_prompt(db, self.journal, each)

    def of(self, db: Connection, doubt: FileDoubt) -> Fact | None:
        """Return what must have happened, if a file differs from the session's known state."""
        session = sessions.get(db, doubt.session)
        if session.is_asking and dialogs.is_awaited_by_subagent(db, session.id):
            return None  # the file describes the main agent, and a subagent asks
        hook = evidence.last(db, session.id, "hook")
        if evidence_model.is_outdated(
            doubt.claim, since=session.since, hooked=hook.at if hook else None
        ):
            return None
        has_turn = not doubt.was_menu or bool(turn_changes.open_turns(db, session.id))
        is_hooked = hook is not None
        known = KnownState(session.state, doubt.said_before, is_hooked, has_turn)
        return evidence_model.correct(session.id, known, doubt.claim)


def _grace_s(db: Connection, doubt: FileDoubt) -> float:
    """Return for how many more seconds the state in a file may change by itself."""
    activity, session = doubt.claim.activity, doubt.session
    if activity is Activity.IDLE and turn_changes.may_go_on(db, session):
        # Between two turns the agent is idle for a moment, also if it continues by itself.
        return BETWEEN_TURNS_S
    if activity is Activity.WORKING and evidence.last(db, session, "hook"):
        return PROMPT_HOOK_S
    return 0.0


def _with_ending(told: Iterable[Fact], ending: Sequence[Fact]) -> list[Fact]:
    """Replace an observed end of a turn by the end that the transcript reports."""
    found = list[Fact]()
    for fact in told:
        found += ending if isinstance(fact, TurnEnded) else [fact]
    return found


def _disagreement(session: Session, claim: Claim) -> EvidenceDisagreed:
    believed = str(session.activity or session.status)
    return EvidenceDisagreed(session.id, "registry", str(claim.activity), believed)
