"""What each source says about a session, and which fact resolves a disagreement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import ASKING, Activity, SessionState, Status

#: Strongest first: the agent's hooks, its session file, its transcript, whether its process
#: exists, and what its screen shows.
Source: TypeAlias = Literal["hook", "registry", "transcript", "process", "screen"]
SOURCES: tuple[Source, ...] = ("hook", "registry", "transcript", "process", "screen")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one source last said of a session."""

    source: Source
    claim: str
    at: datetime
    detail: str = ""


Confidence: TypeAlias = Literal["sure", "likely", "unsure"]


def confidence(state: SessionState, evidence: list[Evidence]) -> Confidence:
    """Return how reliable the recorded state of a session is."""
    sources = {each.source for each in evidence}
    if state.status.is_over or "hook" in sources or "registry" in sources:
        disagree = any(
            each.source == "registry" and each.claim != (state.activity or "")
            for each in evidence
            if state.status is Status.RUNNING
        )
        return "likely" if disagree else "sure"
    return "likely" if "screen" in sources else "unsure"


@dataclass(frozen=True, slots=True)
class Claim:
    """The activity that an agent's session file reports."""

    activity: Activity
    at: datetime
    detail: str = ""
    runs_commands: bool = False  #: in the background, after its turn


@dataclass(frozen=True, slots=True)
class KnownState:
    """The state that Rookery has recorded for a session, and what it rests on."""

    state: SessionState
    said_before: Activity | None  #: the previous claim of the agent's file
    is_hooked: bool  #: hooks report its prompts and stops, slightly later than its file does
    has_turn: bool = True  #: a turn is open; a dialog can also open without one


def is_outdated(claim: Claim, *, since: datetime, hooked: datetime | None) -> bool:
    """Return whether a hook has changed the session's state since the agent's file was written.

    A change of state alone is not enough: a claim of the file that was applied late is one,
    too, and must not outdate the next claim of the same file.
    """
    return hooked is not None and claim.at <= min(since, hooked)


def correct(  # noqa: C901, PLR0911 - a table
    session: SessionId, known: KnownState, claim: Claim
) -> Fact | None:
    """Return the missed fact that explains why the agent's file and the state disagree."""
    activity, was_asking = known.state.activity, known.said_before in ASKING
    if known.state.status is not Status.RUNNING or activity is claim.activity:
        return None
    match claim.activity:
        case Activity.IDLE if activity in ASKING and not known.has_turn:
            return facts.InputSettled(session, "terminal", rests=True)
        case Activity.IDLE if known.is_hooked or activity in ASKING:
            return facts.TurnEnded(session, "", "interrupted")
        case Activity.IDLE:
            return facts.TurnEnded(session)
        case Activity.WORKING if activity in ASKING:
            # The file can only report that a dialog closed if it reported it open before.
            return facts.InputSettled(session, "terminal") if was_asking else None
        case Activity.WORKING:
            return facts.TurnStarted(session, "")
        case Activity.PERMISSION:
            return facts.InputAsked(session, "permission", claim.detail)
        case Activity.QUESTION:
            return facts.InputAsked(session, "question", claim.detail)
