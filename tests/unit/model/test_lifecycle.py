from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.lifecycle import (
    Activity,
    SessionState,
    Status,
    advance,
    as_lifecycle,
    as_state,
)
from tests.support.facts import FACTS, S

STARTING = SessionState()
PREPARING = SessionState(Status.STARTING, None, "runs npm ci")
WORKING = SessionState(Status.RUNNING, Activity.WORKING)
IDLE = SessionState(Status.RUNNING, Activity.IDLE)
INTERRUPTED = SessionState(Status.RUNNING, Activity.IDLE, "interrupted")
ASKING = SessionState(Status.RUNNING, Activity.PERMISSION, "May it?")
ASKED = SessionState(Status.RUNNING, Activity.QUESTION, "Which?")
CLOSING = SessionState(Status.CLOSING, None, "asked to end by anna")
DONE = SessionState(Status.COMPLETED, None, "exit")


#: What is worth knowing, and says nothing of where a session stands.
REMARKS = (
    facts.SessionRequested,
    facts.SessionRecovered,
    facts.OutputMissed,
    facts.ProgramContinued,
    facts.MessageWritten,
    facts.MessageWithdrawn,
    facts.MessageEdited,
    facts.MessagesCleared,
    facts.DeliveryWaited,
    facts.DeliveryDoubted,
    facts.CommandTaken,
    facts.KeysPressed,
    facts.KeysWithheld,
    facts.AnswerTaken,
    facts.InputLeft,
    facts.SessionRenamed,
    facts.SessionLabelled,
    facts.SessionTagged,
    facts.SessionHidden,
    facts.SessionUnhidden,
    facts.ModelChosen,
    facts.TranscriptFound,
    facts.CallDecided,
    facts.ToolUsed,
    facts.Noted,
    facts.UsageReported,
    facts.EvidenceDisagreed,
    facts.ConversationLeft,
    facts.RingClosed,
    facts.WaitExpired,
    facts.RelayJoined,
    facts.RelayLeft,
    facts.ForegroundEntered,
    facts.ForegroundLeft,
    facts.DeliveriesHeld,
    facts.DeliveriesReleased,
    facts.WorkspaceKept,
    facts.WorkspaceRemoved,
    facts.WorkspacePruneRequested,
    facts.WorkspaceLanded,
    facts.OverlapFound,
)


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("state", "fact", "becomes"),
    [
        (STARTING, facts.SessionStarted(S), IDLE),
        (STARTING, facts.SessionFound(S), IDLE),
        (STARTING, facts.TurnStarted(S, "go"), WORKING),
        (STARTING, facts.TurnEnded(S), IDLE),
        (STARTING, facts.InputAsked(S, "permission", "May it?"), ASKING),
        (STARTING, facts.ToolCalled(S, "Bash"), WORKING),
        (STARTING, facts.InputSettled(S), STARTING),
        (STARTING, facts.EndRequested(S, "anna"), CLOSING),
        (
            STARTING,
            facts.SessionEnded(S, "x", "failed"),
            SessionState(Status.FAILED, None, "x"),
        ),
        (STARTING, facts.WorkspaceProgressed(S, "runs npm ci"), PREPARING),
        (PREPARING, facts.WorkspaceReady(S, "/path", "rookery/fix"), STARTING),
        (IDLE, facts.WorkspaceProgressed(S, "runs npm ci"), IDLE),
        (CLOSING, facts.WorkspaceReady(S, "/path", "rookery/fix"), CLOSING),
        (IDLE, facts.TurnStarted(S, "go"), WORKING),
        (IDLE, facts.ToolCalled(S, "Bash"), WORKING),
        (IDLE, facts.InputSettled(S), IDLE),
        (IDLE, facts.InputAsked(S, "question", "Which?"), ASKED),
        (IDLE, facts.SessionEnded(S, "exit"), DONE),
        (IDLE, facts.SessionEnded(S, "x", "failed"), SessionState(Status.FAILED, None, "x")),
        (INTERRUPTED, facts.TurnStarted(S, "go"), WORKING),
        (WORKING, facts.SessionStarted(S), WORKING),
        (WORKING, facts.InputAsked(S, "permission", "May it?"), ASKING),
        (WORKING, facts.TurnEnded(S), IDLE),
        # Its end follows, and says why: it is never shown as idle.
        (WORKING, facts.TurnEnded(S, "", "failed", fails_session=True), WORKING),
        (WORKING, facts.TurnEnded(S, "", "interrupted"), INTERRUPTED),
        (WORKING, facts.EndRequested(S, "anna"), CLOSING),
        (ASKED, facts.SessionStarted(S), IDLE),
        (ASKING, facts.ToolCalled(S, "Bash"), ASKING),
        (ASKING, facts.InputSettled(S), WORKING),
        (ASKING, facts.TurnEnded(S), IDLE),
        (ASKED, facts.InputSettled(S), WORKING),
        (ASKED, facts.InputAsked(S, "permission", "May it?"), ASKING),
        (CLOSING, facts.TurnEnded(S), CLOSING),
        (CLOSING, facts.SessionStarted(S), CLOSING),
        (CLOSING, facts.EndRequested(S, "bert"), CLOSING),
        (
            CLOSING,
            facts.SessionEnded(S, "x"),
            SessionState(Status.KILLED, None, CLOSING.reason),
        ),
        (
            CLOSING,
            facts.SessionEnded(S, "x", "failed"),
            SessionState(Status.KILLED, None, CLOSING.reason),
        ),
        (DONE, facts.TurnEnded(S), DONE),
        (DONE, facts.EndRequested(S, "anna"), DONE),
        (DONE, facts.SessionEnded(S, "x", "failed"), DONE),
    ],
)
def test_a_fact_moves_a_session(state: SessionState, fact: Fact, becomes: SessionState) -> None:
    assert advance(state, fact) == becomes


@pytest.mark.spec("A2")
@pytest.mark.parametrize("state", [STARTING, IDLE, WORKING, ASKING, ASKED, CLOSING, DONE])
@pytest.mark.parametrize("fact", [fact for fact in FACTS if isinstance(fact, REMARKS)])
def test_a_remark_moves_nothing(state: SessionState, fact: Fact) -> None:
    assert advance(state, fact) == state


@pytest.mark.spec("A2")
@given(st.lists(st.sampled_from(FACTS)))
def test_a_session_only_moves_forward(history: list[Fact]) -> None:
    order = list(Status)
    state = SessionState()

    for fact in history:
        before, state = state, advance(state, fact)

        assert order.index(state.status) >= order.index(before.status)
        assert (state.activity is not None) == (state.status is Status.RUNNING)
        assert not before.status.is_over or state == before


@pytest.mark.spec("A2")
@given(st.lists(st.sampled_from(FACTS)))
def test_only_who_was_asked_to_end_was_killed(history: list[Fact]) -> None:
    state = SessionState()
    was_asked = False

    for fact in history:
        was_asked |= isinstance(fact, facts.EndRequested) and not state.status.is_over
        state = advance(state, fact)

    assert (state.status is Status.KILLED) == (was_asked and state.status.is_over)


def test_every_fact_has_a_name_on_disk() -> None:
    assert {type(fact) for fact in FACTS} == set(facts.KINDS.values())


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("status", "headless", "theirs"),
    [
        (Status.STARTING, False, "creating"),
        (Status.RUNNING, False, "active"),
        (Status.RUNNING, True, "headless"),
        (Status.CLOSING, False, "closing"),
        (Status.COMPLETED, True, "closed"),
        (Status.KILLED, False, "closed"),
        (Status.FAILED, False, "failed"),
    ],
)
def test_a_status_can_be_said_in_the_words_of_other_tools(
    status: Status, *, headless: bool, theirs: str
) -> None:
    assert as_lifecycle(status, headless=headless) == theirs


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("activity", "theirs"),
    [
        (None, "active"),
        (Activity.WORKING, "active"),
        (Activity.IDLE, "idle"),
        (Activity.PERMISSION, "permission_pending"),
        (Activity.QUESTION, "permission_pending"),
    ],
)
def test_an_activity_can_be_said_in_the_words_of_other_tools(
    activity: Activity | None, theirs: str
) -> None:
    assert as_state(activity) == theirs
