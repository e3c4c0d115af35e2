"""Process the end of a turn as reported by an agent's stop hook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import (
    Fact,
    Noted,
    PromptFound,
    QueueTaken,
    SessionId,
    TurnEnded,
    TurnStarted,
)
from rookery.model.lifecycle import Activity
from rookery.store import sessions, turn_changes, turns
from rookery.store.journal import Journal


def has_prompt(db: Connection, session: SessionId) -> bool:
    """Return whether a turn runs whose prompt is known."""
    last = turns.of_session(db, session, last=1)
    running = turn_changes.open_turns(db, session)
    return len(running) > 1 or bool(running and last[0].prompt)


def with_unseen_prompt(db: Connection, told: Iterable[Fact], prompt: str) -> Iterator[Fact]:
    """Add to the end of a turn its prompt, and its start if that was not seen, either."""
    for fact in told:
        if prompt and isinstance(fact, TurnEnded) and not turn_changes.is_late(db, fact):
            yield from _unseen_start(db, fact, prompt)
        yield fact


def _unseen_start(db: Connection, ended: TurnEnded, prompt: str) -> Iterator[Fact]:
    if has_prompt(db, ended.session):
        return
    if turn_changes.open_turns(db, ended.session):
        yield PromptFound(ended.session, prompt)
    else:
        yield TurnStarted(ended.session, prompt, turn=ended.turn)


def write(db: Connection, journal: Journal, ended: TurnEnded, *, at: datetime) -> None:
    """Record that a turn ended, unless it had ended before, and that queued prompts follow.

    A hook that waited in the spool may arrive after the turn's end was seen by other means.
    """
    session = sessions.get(db, ended.session)
    if turn_changes.is_late(db, ended):
        amended = turn_changes.amend(db, ended, at=at)
        # Correct listeners that were notified of an interruption, while no other turn runs.
        is_news = amended and session.activity is Activity.IDLE
        late = Noted(ended.session, "Stop", "it came late")
        journal.append(db, ended if is_news else late, at=at)
        return
    journal.append(db, ended, at=at)
    if not session.status.is_over and turn_changes.goes_on(db, ended.session):
        # No prompt hook reports that the agent continues with prompts typed during its turn.
        journal.append(db, QueueTaken(ended.session), at=at)
