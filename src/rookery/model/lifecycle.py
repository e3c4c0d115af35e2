"""What a session becomes, and because of what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, assert_never

from rookery.model import facts


class Status(StrEnum):
    """How far a session has come. It only ever moves down this list."""

    STARTING = "starting"  #: there is a row; the agent is not up yet
    RUNNING = "running"
    CLOSING = "closing"  #: it was asked to end
    COMPLETED = "completed"  #: it ended by itself, and well
    FAILED = "failed"  #: it ended by itself, and badly
    KILLED = "killed"  #: it ended because it was asked to

    __hash__ = str.__hash__  # that of enumerations is slow, and this is asked of every fact

    @property
    def is_over(self) -> bool:
        return self in OVER


OVER = frozenset({Status.COMPLETED, Status.FAILED, Status.KILLED})


class Activity(StrEnum):
    """What a running session does."""

    WORKING = "working"  #: a turn runs
    IDLE = "idle"  #: the turn is over; it waits for words
    PERMISSION = "permission"  #: it waits for a verdict
    QUESTION = "question"  #: it asked its person something

    __hash__ = str.__hash__  # as above


#: A dialog stands on the screen: a key pressed now would answer it.
ASKING = frozenset({Activity.PERMISSION, Activity.QUESTION})


@dataclass(frozen=True, slots=True)
class SessionState:
    """Where a session stands. It has an activity exactly while it runs."""

    status: Status = Status.STARTING
    activity: Activity | None = None
    reason: str = ""


def as_lifecycle(status: Status, *, headless: bool) -> str:
    """Say it in the words of a session's lifecycle that other tools use."""
    if status is Status.RUNNING:
        return "headless" if headless else "active"
    others = {Status.STARTING: "creating", Status.COMPLETED: "closed", Status.KILLED: "closed"}
    return others.get(status, status.value)


def as_state(activity: Activity | None) -> Literal["active", "idle", "permission_pending"]:
    """Say it in the words of a tracker that other tools use."""
    if activity in ASKING:
        return "permission_pending"
    return "idle" if activity is Activity.IDLE else "active"


def advance(state: SessionState, fact: facts.Fact) -> SessionState:
    """Return the state of a session after ``fact``.

    A late fact (a Stop hook after the pane died) moves nothing: history may
    still be written, but the dead stay dead.
    """
    match fact:
        case _ if state.status.is_over:
            return state
        case facts.SessionEnded(_, reason, outcome):
            if state.status is Status.CLOSING:
                return SessionState(Status.KILLED, None, state.reason)
            return SessionState(Status(outcome), None, reason)
        case _ if state.status is Status.CLOSING:
            return state
        case facts.EndRequested(_, by):
            return SessionState(Status.CLOSING, None, f"asked to end by {by}")
        case _:
            return _act(state, fact)


def _act(state: SessionState, fact: facts.Fact) -> SessionState:  # noqa: C901, PLR0911 - a table
    match fact:
        case facts.TurnStarted(resumes=True) if state.activity in ASKING:
            return state  # one background subagent has reported while another one asks
        case facts.TurnStarted() | facts.QueueTaken():
            return SessionState(Status.RUNNING, Activity.WORKING)
        case facts.TurnPaused(subagents=number):
            # A subagent may ask for a permission before the agent itself has stopped.
            asked = state.activity in ASKING
            return (
                state
                if asked
                else SessionState(Status.RUNNING, Activity.WORKING, _waits_for(number))
            )
        case facts.TurnEnded(_, _, how):
            return SessionState(Status.RUNNING, Activity.IDLE, "" if how == "finished" else how)
        case facts.InputAsked(_, kind, message):
            return SessionState(Status.RUNNING, Activity(kind), message)
        case facts.InputSettled(rests=rests):
            asked = state.activity in ASKING
            after = Activity.IDLE if rests else Activity.WORKING
            return SessionState(Status.RUNNING, after) if asked else state
        case facts.SessionStarted() | facts.SessionFound():
            # Claude says it again in mid-turn, after compaction: that makes nobody idle.
            working = state.activity is Activity.WORKING
            return state if working else SessionState(Status.RUNNING, Activity.IDLE)
        case facts.ToolCalled():
            # A turn runs, also if its beginning was missed. What is asked about another call
            # is still asked: tools run side by side.
            asked = state.activity in ASKING
            return state if asked else SessionState(Status.RUNNING, Activity.WORKING)
        case (
            facts.SessionRequested()
            | facts.SessionRecovered()
            | facts.TranscriptFound()
            | facts.OutputMissed()
            | facts.MessageWritten()
            | facts.DeliveryWaited()
            | facts.DeliveryDoubted()
            | facts.CommandTaken()
            | facts.KeysPressed()
            | facts.KeysWithheld()
            | facts.AnswerTaken()
            | facts.InputLeft()
            | facts.SessionRenamed()
            | facts.SessionLabelled()
            | facts.ModelChosen()
            | facts.CallDecided()
            | facts.ToolUsed()
            | facts.PromptFound()
            | facts.BackgroundEnded()
            | facts.Noted()
            | facts.UsageReported()
            | facts.EvidenceDisagreed()
            | facts.ConversationLeft()
            | facts.RingClosed()
            | facts.WaitExpired()
            | facts.RelayJoined()
            | facts.RelayLeft()
            | facts.ForegroundEntered()
            | facts.ForegroundLeft()
            | facts.DeliveriesHeld()
            | facts.DeliveriesReleased()
            | facts.EndRequested()
            | facts.SessionEnded()
        ):
            return state
        case _:
            assert_never(fact)


def _waits_for(subagents: int) -> str:
    return f"waits for {subagents} background subagent{'' if subagents == 1 else 's'}"
