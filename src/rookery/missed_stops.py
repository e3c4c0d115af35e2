"""Find out how a turn ended whose stop hook never came, from what its agent wrote down.

The hook may have been killed, or there was no room on the disk for what it told. Of an
interruption at the keyboard Claude's hooks tell nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from rookery.conversations import FINAL, Conversations
from rookery.model.facts import Fact, PromptFound, SessionId, TurnEnded
from rookery.model.sessions import Turn
from rookery.store import turn_changes, turns
from rookery.store.attribution import OpenTurn
from rookery.store.database import Database

#: How often the transcript is looked at, with a pause between: its last line may come late.
TRIES = 2


@dataclass(frozen=True, slots=True)
class MissedStops:
    database: Database
    conversations: Conversations

    async def ending(
        self, session: SessionId, *, until: datetime | None = None
    ) -> tuple[Fact, ...]:
        """Say how the present turn of a session ended, of which no hook has told."""
        known = await self.database.read(partial(_known, session=session))
        if told := known.told:
            return (told,)
        last = await self.conversations.said_last(
            self.database, session, until=until, tries=TRIES
        )
        found = [PromptFound(session, last.prompt)] if last and last.prompt else []
        if last is None or last.passage is None or not last.is_final:
            # Nothing was answered: Claude then gives the prompt back to its person.
            return (*found, TurnEnded(session, "", "interrupted"))
        how = FINAL[last.passage.kind]
        words = "" if how == "interrupted" else last.passage.text
        return (*found, TurnEnded(session, words, how))


@dataclass(frozen=True, slots=True)
class KnownTurn:
    """What the store knows of the turns that are open."""

    session: SessionId
    open_turns: list[OpenTurn]
    before: Turn | None  #: the last turn that is over

    @property
    def told(self) -> TurnEnded | None:
        """Return the end that follows from what hooks have told before."""
        if self.open_turns and all(each.is_paused for each in self.open_turns):
            return TurnEnded(self.session)  # its subagents are gone, and it has answered
        if self.before and self.open_turns and all(each.queued for each in self.open_turns):
            # The turn before has taken these prompts in: its answer is also theirs.
            return TurnEnded(self.session, self.before.answer)
        return None


def _known(db: Connection, session: SessionId) -> KnownTurn:
    ended = [turn for turn in turns.of_session(db, session, last=8) if turn.ended_at]
    return KnownTurn(
        session, turn_changes.open_turns(db, session), ended[-1] if ended else None
    )
