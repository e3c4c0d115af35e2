"""Make an agent that stops with an error continue: automatically, or if a person decides so.

This always ends: a turn is continued a few times at most, and only if no other hook does so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from sqlite3 import Connection
from typing import Literal

from rookery.model.facts import InputAsked, Noted, TurnEnded
from rookery.model.patterns import Pattern
from rookery.model.permissions import STOP, Call, Outcome, Question, RequestId, Stop, Verdict
from rookery.model.sessions import Session
from rookery.permissions.decisions import WaitForAnswer
from rookery.store import requests, turns
from rookery.store.journal import Journal
from rookery.store.requests import Asking

#: The instruction to the agent if no person is asked.
ANOTHER_WAY = "That did not work. Try another approach, or say what you would need."

GO_ON, LET_STOP = "Continue", "Let stop"


@dataclass(frozen=True, slots=True)
class KeepWorking:
    """The agent must not stop yet."""

    reason: str  #: the instruction to the agent


@dataclass(frozen=True, slots=True)
class StopPolicy:
    journal: Journal
    policy: Literal["off", "retry", "ask"]
    retries: int
    pattern: str
    deadline: timedelta

    def consider(
        self, db: Connection, session: Session, stop: Stop, *, hook: str
    ) -> KeepWorking | WaitForAnswer | None:
        """Decide whether the agent continues or a person is asked; ``None``: it may stop."""
        if self.policy == "off" or not Pattern(self.pattern, "regex").matches(stop.words):
            return None
        times_held = turns.times_held(db, session.id)
        if times_held >= self.retries or (stop.goes_on and not times_held):
            return None  # or another program's hook continues it, and two would never end
        if self.policy == "ask":
            return WaitForAnswer(self._ask(db, session, stop, hook=hook))
        self._hold(db, session)
        return KeepWorking(ANOTHER_WAY)

    def _ask(self, db: Connection, session: Session, stop: Stop, *, hook: str) -> RequestId:
        now = self.journal.clock.now()
        text = f"It stopped: {' '.join(stop.words.split())[:500]} Shall it go on?"
        call = Call(STOP, {"words": stop.words}, (Question(text, (GO_ON, LET_STOP)),))
        asking = Asking(now, now + self.deadline, hook, has_dialog=False)
        request = requests.add(db, session.id, call, asking)
        self.journal.append(db, InputAsked(session.id, "question", text, request))
        return request

    def conclude(
        self, db: Connection, session: Session, last_message: str, verdict: Verdict
    ) -> None:
        """Record the consequence of an answer: the turn continues, or it is over."""
        if reason_to_go_on(verdict):
            self._hold(db, session)
        elif not session.status.is_over and verdict.outcome is not Outcome.GONE:
            self.journal.append(db, TurnEnded(session.id, last_message))

    def _hold(self, db: Connection, session: Session) -> None:
        turns.hold(db, session.id)
        self.journal.append(db, Noted(session.id, "StopHeld"))


def reason_to_go_on(verdict: Verdict) -> str:
    """Return the instruction that follows from an answer; empty if the agent may stop."""
    answer_text = " ".join(answer for answers in verdict.answers.values() for answer in answers)
    if verdict.outcome is not Outcome.ANSWERED or answer_text in {"", LET_STOP}:
        return ""
    return (
        ANOTHER_WAY if answer_text == GO_ON else answer_text.removeprefix(f"{GO_ON}:").strip()
    )
