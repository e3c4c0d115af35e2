"""Find out from the transcript how a turn ended whose stop hook never came.

The hook may have been killed, or the disk was too full to spool its call. Claude's hooks do not
report an interruption at the keyboard, either.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from sqlite3 import Connection

from rookery.model.attribution import reported_end
from rookery.model.facts import Fact, SessionId, TurnEnded
from rookery.model.turn_texts import Answer
from rookery.store import turn_changes, turns
from rookery.store.database import Database
from rookery.tracking.transcript_reader import TranscriptReader

#: Attempts to read the transcript, with a pause between: its last line may come late.
MAX_TRANSCRIPT_TRIES = 2

#: Latest turns that are searched for one that has ended.
RECENT_TURNS = 8


async def missed_end(
    database: Database,
    conversations: TranscriptReader,
    session: SessionId,
    *,
    until: datetime | None = None,
) -> tuple[Fact, ...]:
    """Return how a session's current turn ended, if no hook has reported its end."""
    if reported := await database.read(partial(_reported_end, session=session)):
        return (reported,)
    last = await conversations.last_entry(
        database, session, until=until, tries=MAX_TRANSCRIPT_TRIES
    )
    # Without an answer it was interrupted: Claude then returns the prompt to the input box.
    interrupted = Answer(how="interrupted")
    answer = last.answer(unfinished="interrupted") if last else interrupted
    return tuple(answer.added_to([TurnEnded(session)]))


def _reported_end(db: Connection, session: SessionId) -> TurnEnded | None:
    latest = turns.of_session(db, session, last=RECENT_TURNS)
    ended = [turn for turn in latest if turn.ended_at]
    open_turns = turn_changes.open_turns(db, session)
    return reported_end(session, open_turns, ended[-1] if ended else None)
