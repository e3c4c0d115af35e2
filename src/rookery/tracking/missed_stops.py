"""Find out from the transcript how a turn ended whose stop hook never came.

The hook may have been killed, or the disk was too full to spool its call. Claude's hooks do not
report an interruption at the keyboard, either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from rookery.model.answers import Answer
from rookery.model.attribution import OpenTurn
from rookery.model.facts import Fact, SessionId, TurnEnded
from rookery.model.sessions import Turn
from rookery.store import turn_changes, turns
from rookery.store.database import Database
from rookery.tracking.transcript_reader import TranscriptReader

#: Attempts to read the transcript, with a pause between: its last line may come late.
MAX_TRANSCRIPT_TRIES = 2


@dataclass(frozen=True, slots=True)
class MissedStops:
    database: Database
    conversations: TranscriptReader

    async def ending(
        self, session: SessionId, *, until: datetime | None = None
    ) -> tuple[Fact, ...]:
        """Return how a session's current turn ended, if no hook has reported its end."""
        known = await self.database.read(partial(_known_turn, session=session))
        if told := known.told:
            return (told,)
        last = await self.conversations.said_last(
            self.database, session, until=until, tries=MAX_TRANSCRIPT_TRIES
        )
        # Without an answer it was interrupted: Claude then returns the prompt to the input box.
        interrupted = Answer(how="interrupted")
        answer = last.answer(unfinished="interrupted") if last else interrupted
        return tuple(answer.added_to([TurnEnded(session)]))


@dataclass(frozen=True, slots=True)
class KnownTurn:
    """The turns of a session according to the store."""

    session: SessionId
    open_turns: list[OpenTurn]
    before: Turn | None  #: the last turn that has ended

    @property
    def told(self) -> TurnEnded | None:
        """The end that follows from earlier hooks, if any."""
        if self.open_turns and all(each.is_paused for each in self.open_turns):
            return TurnEnded(self.session)  # its subagents are gone, and it has answered
        if self.before and self.open_turns and all(each.queued for each in self.open_turns):
            # The turn before has taken these prompts in: its answer is also theirs.
            return TurnEnded(self.session, self.before.answer)
        return None


def _known_turn(db: Connection, session: SessionId) -> KnownTurn:
    ended = [turn for turn in turns.of_session(db, session, last=8) if turn.ended_at]
    return KnownTurn(
        session, turn_changes.open_turns(db, session), ended[-1] if ended else None
    )
