"""One fact of each kind."""

from __future__ import annotations

from rookery.model import facts
from rookery.model.facts import Fact, SessionId

S = SessionId("s1")


FACTS: tuple[Fact, ...] = (
    facts.SessionRequested(S, "anna"),
    facts.SessionStarted(S),
    facts.SessionFound(S),
    facts.SessionRecovered(S),
    facts.TranscriptFound(S, "/path"),
    facts.OutputMissed(S, "too fast"),
    facts.MessageWritten(S, "anna"),
    facts.MessageWithdrawn(S, 7, "anna"),
    facts.MessageEdited(S, 7, "anna"),
    facts.MessagesCleared(S, (7,), "anna"),
    facts.DeliveryWaited(S, "a draft"),
    facts.DeliveryDoubted(S, 1),
    facts.CommandTaken(S, 1),
    facts.KeysPressed(S, "enter", "anna"),
    facts.KeysWithheld(S, "r1", "its dialog changed"),
    facts.AnswerTaken(S, "r1"),
    facts.InputLeft(S, "r1", "its hook is gone"),
    facts.SessionRenamed(S, "other"),
    facts.TurnStarted(S, "go"),
    facts.PromptFound(S, "go"),
    facts.QueueTaken(S),
    facts.TurnPaused(S, "half", "t1", subagents=1),
    facts.BackgroundEnded(S),
    facts.InputAsked(S, "permission", "May it?"),
    facts.InputAsked(S, "question", "Which?"),
    facts.InputSettled(S),
    facts.CallDecided(S, "Bash", "deny", "rule"),
    facts.ToolCalled(S, "Bash"),
    facts.ToolUsed(S, "Bash"),
    facts.Noted(S, "Notification"),
    facts.UsageReported(S, 1, 2),
    facts.EvidenceDisagreed(S, "registry", "idle", "working"),
    facts.SessionLabelled(S, "api"),
    facts.ModelChosen(S, "sonnet"),
    facts.TurnEnded(S),
    facts.TurnEnded(S, "", "interrupted"),
    facts.ConversationLeft(S, "clear"),
    facts.RingClosed(S, "one → two → one"),
    facts.WaitExpired(S, "two"),
    facts.RelayJoined(S, "r1", "one", 1),
    facts.RelayLeft(S, "r1", "closed"),
    facts.ForegroundEntered(S, "terminal", "anna"),
    facts.ForegroundLeft(S, "terminal", "anna"),
    facts.DeliveriesHeld(S, "anna"),
    facts.DeliveriesReleased(S, "anna"),
    facts.EndRequested(S, "anna"),
    facts.SessionEnded(S, "exit"),
    facts.SessionEnded(S, "signal 9", "failed"),
)
