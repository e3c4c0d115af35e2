"""The state machine of a session: which fact leads to which state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, assert_never

from rookery.model import facts


class Status(StrEnum):
    """The status of a session. It moves forward only, and ends in one of the last three."""

    STARTING = "starting"  #: the row exists; the agent is not up yet
    RUNNING = "running"
    CLOSING = "closing"  #: an end was requested
    COMPLETED = "completed"  #: it ended by itself, successfully
    FAILED = "failed"  #: an error, a loss, a failed start or a used-up budget ended it
    KILLED = "killed"  #: a person, a session, inactivity or a limit ended it

    __hash__ = str.__hash__  # Enum's own hash is slow, and every fact needs it

    @property
    def is_over(self) -> bool:
        return self in OVER


OVER = frozenset({Status.COMPLETED, Status.FAILED, Status.KILLED})


class Activity(StrEnum):
    """What a running session does."""

    WORKING = "working"  #: a turn runs
    IDLE = "idle"  #: the turn is over; it waits for a prompt
    PERMISSION = "permission"  #: it waits for a verdict
    QUESTION = "question"  #: it waits for the user's answer to a question

    __hash__ = str.__hash__  # as above


#: The agent waits for a person; in a terminal, a key pressed now may answer its dialog.
ASKING = frozenset({Activity.PERMISSION, Activity.QUESTION})


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of a session. It has an activity exactly while it is running."""

    status: Status = Status.STARTING
    activity: Activity | None = None
    reason: str = ""


def as_lifecycle(status: Status, *, headless: bool) -> str:
    """Return the status in the lifecycle vocabulary of other tools."""
    if status is Status.RUNNING:
        return "headless" if headless else "active"
    others = {Status.STARTING: "creating", Status.COMPLETED: "closed", Status.KILLED: "closed"}
    return others.get(status, status.value)


def as_state(activity: Activity | None) -> Literal["active", "idle", "permission_pending"]:
    """Return the activity in the tracker vocabulary of other tools."""
    if activity in ASKING:
        return "permission_pending"
    return "idle" if activity is Activity.IDLE else "active"


def advance(state: SessionState, fact: facts.Fact) -> SessionState:
    """Return the state of a session after ``fact``.

    A late fact (a Stop hook after the pane died) is still recorded, but does not change the
    state of a session that has ended.
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
            return state if type(fact) in _STATELESS else _advance_live(state, fact)


#: Frequent facts that change no state. ``_advance_live`` would compare each with all its cases.
_STATELESS: frozenset[type[facts.Fact]] = frozenset(
    {facts.Noted, facts.UsageReported, facts.ToolUsed, facts.MessageWritten}
)


def _advance_live(  # noqa: C901, PLR0911 - a table
    state: SessionState, fact: facts.Fact
) -> SessionState:
    match fact:
        case facts.TurnStarted(resumes=True) if state.activity in ASKING:
            return state  # one background subagent reported while another waits for input
        case facts.TurnStarted() | facts.QueueTaken():
            return SessionState(Status.RUNNING, Activity.WORKING)
        case facts.TurnPaused(subagents=number):
            # A subagent may ask for permission before the agent itself has stopped.
            was_asking = state.activity in ASKING
            return (
                state
                if was_asking
                else SessionState(Status.RUNNING, Activity.WORKING, _waits_for(number))
            )
        case facts.TurnEnded(_, _, how) as ended:
            idle = SessionState(Status.RUNNING, Activity.IDLE, "" if how == "finished" else how)
            # The end of a session that fails with its turn follows at once. An idle session
            # would get the next message, and a wait for its stop would miss that it failed.
            return state if ended.fails_session else idle
        case facts.InputAsked(_, kind, message):
            return SessionState(Status.RUNNING, Activity(kind), message)
        case facts.InputSettled(rests=rests):
            was_asking = state.activity in ASKING
            after = Activity.IDLE if rests else Activity.WORKING
            return SessionState(Status.RUNNING, after) if was_asking else state
        case facts.SessionStarted() | facts.SessionFound():
            # Claude reports a start also after compaction during a turn, where it is not idle.
            working = state.activity is Activity.WORKING
            return state if working else SessionState(Status.RUNNING, Activity.IDLE)
        case facts.ToolCalled():
            # A turn runs, even if its start was missed. A request about another call stays
            # open: tools run in parallel.
            was_asking = state.activity in ASKING
            return state if was_asking else SessionState(Status.RUNNING, Activity.WORKING)
        case facts.WorkspaceProgressed(_, reason) | facts.StartWaited(_, reason) if (
            state.status is Status.STARTING
        ):
            return SessionState(Status.STARTING, None, reason)
        case facts.WorkspaceReady() if state.status is Status.STARTING:
            return SessionState(Status.STARTING)
        case (
            facts.SessionRequested()
            | facts.SessionRecovered()
            | facts.TranscriptFound()
            | facts.OutputMissed()
            | facts.ProgramContinued()
            | facts.MessageWritten()
            | facts.MessageWithdrawn()
            | facts.MessageEdited()
            | facts.MessagesCleared()
            | facts.DeliveryWaited()
            | facts.DeliveryDoubted()
            | facts.CommandTaken()
            | facts.KeysPressed()
            | facts.KeysWithheld()
            | facts.AnswerTaken()
            | facts.InputLeft()
            | facts.SessionRenamed()
            | facts.SessionLabelled()
            | facts.SessionTagged()
            | facts.SessionHidden()
            | facts.SessionUnhidden()
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
            | facts.WorkspaceProgressed()
            | facts.WorkspaceReady()
            | facts.WorkspaceKept()
            | facts.WorkspaceRemoved()
            | facts.WorkspacePruneRequested()
            | facts.WorkspaceLanded()
            | facts.OverlapFound()
            | facts.StartWaited()
            | facts.BudgetExceeded()
            | facts.EndRequested()
            | facts.SessionEnded()
        ):
            return state
        case _:
            assert_never(fact)


def _waits_for(subagents: int) -> str:
    return f"waits for {subagents} background subagent{'' if subagents == 1 else 's'}"
