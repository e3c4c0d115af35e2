"""The current turn of a session, and what its transcript says about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.agents.transcripts import transcript_glob
from rookery.model.evidence import Claim
from rookery.model.facts import How, SessionId
from rookery.model.lifecycle import ASKING, Activity
from rookery.model.sessions import Session
from rookery.model.turn_texts import Answer
from rookery.ports.transcript import Passage
from rookery.store import sessions, turns
from rookery.tracking import exchanges

#: Latest turns that are searched for the last one that has ended.
RECENT_TURNS = 8


@dataclass(frozen=True, slots=True)
class CurrentTurn:
    """A session and its current turn."""

    session: Session
    since: datetime  #: entries after this time belong to the turn
    prompt: str  #: empty if the start of the turn was only observed
    started_at: datetime
    is_open: bool = True  #: false if no turn runs
    last: exchanges.AskedTurn | None = None  #: the last turn that has ended

    @property
    def window_start(self) -> datetime:
        """The time from which its transcript is read: the last turn is found there, too."""
        return self.last.started_at - exchanges.RECORD_DELAY if self.last else self.since

    @property
    def is_command(self) -> bool:
        return self.prompt.startswith("/")

    def is_output_of_earlier_command(self, last: Passage, earlier: Iterable[Passage]) -> bool:
        """Return whether the last entry of a command's turn belongs to the turn before.

        A hook reports the end of a command before the program writes the output down.
        """
        if not self.is_command or last.at >= self.started_at:
            return False
        own = exchanges.AskedTurn(self.prompt, self.started_at)
        return not any(exchanges.is_prompt_of(each, own) for each in (last, *earlier))

    @property
    def has_transcript(self) -> bool:
        """Whether there may be a transcript."""
        known, native_id = self.session.transcript_path, self.session.native_id or ""
        return bool(known or transcript_glob(self.session.agent, native_id))


def current_turn(db: Connection, session: SessionId) -> CurrentTurn:
    """Return the current turn of a session: everything since the end of the one before.

    The start of a turn may become known only after the turn was answered.
    """
    current = sessions.get(db, session)
    latest = turns.of_session(db, session, last=1)
    since = turns.last_end(db, session) or current.created_at
    is_open = bool(latest) and latest[0].ended_at is None
    prompt, started_at = (latest[0].prompt, latest[0].started_at) if is_open else ("", since)
    return CurrentTurn(current, since, prompt, started_at, is_open, _last_ended(db, session))


def _last_ended(db: Connection, session: SessionId) -> exchanges.AskedTurn | None:
    ended = [each for each in turns.of_session(db, session, last=RECENT_TURNS) if each.ended_at]
    return exchanges.AskedTurn(ended[-1].prompt, ended[-1].started_at) if ended else None


def is_confirmed(found: Sequence[exchanges.PromptEntry], claim: Claim) -> bool:
    """Return whether a transcript has the end or the prompt that a claim is about."""
    if claim.activity is Activity.IDLE:
        return bool(found) and found[-1].is_over
    return bool(exchanges.begun(found, at=claim.at).prompt)


def reported(turn: CurrentTurn, found: Sequence[exchanges.PromptEntry], claim: Claim) -> Answer:
    """Return the texts of the turns that a claim of a session file is about."""
    if claim.activity is not Activity.IDLE:
        return exchanges.begun(found, at=claim.at)
    # A prompt that was typed ahead follows at once: a later claim is about its turn.
    found = [each for each in found if each.at < claim.at or not each.prompt]
    if not turn.is_open:
        return Answer(earlier=exchanges.missed(found))
    asked = exchanges.AskedTurn(turn.prompt, turn.started_at)
    # A turn that asked ends without an answer if it was denied. Otherwise a turn whose last
    # entry is a tool has no answer, but has ended all the same.
    was_asking = turn.session.activity in ASKING
    unfinished: How = "interrupted" if was_asking else "finished"
    return exchanges.ended(found, asked, at=claim.at, unfinished=unfinished)
