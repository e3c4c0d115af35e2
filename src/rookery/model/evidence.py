"""What is known of a session, from whom, and what to make of it if they disagree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import ASKING, Activity, SessionState, Status

#: Strongest first: an agent's own word, its own file, what it wrote down, whether it is
#: there at all, and what its screen looks like.
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
    """Say how much the state of a session is worth."""
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
    """What an agent's own file says that it does."""

    activity: Activity
    at: datetime
    detail: str = ""
    runs_commands: bool = False  #: in the background, after its turn


@dataclass(frozen=True, slots=True)
class KnownState:
    """Where we think that a session stands, and why."""

    state: SessionState
    said_before: Activity | None  #: by its agent's file, before what it says now
    is_hooked: bool  #: its hooks tell of prompts and stops, and a moment later than its file
    has_turn: bool = True  #: a turn is open; a dialog may also be opened while none is


def is_outdated(claim: Claim, *, since: datetime, hooked: datetime | None) -> bool:
    """Whether a hook has moved a session since its agent's file said so.

    A move alone does not tell: a file that was believed a moment late has made one, too, and
    must not outdate what the same file says next.
    """
    return hooked is not None and claim.at <= min(since, hooked)


def correct(  # noqa: C901, PLR0911 - a table
    session: SessionId, known: KnownState, claim: Claim
) -> Fact | None:
    """Say what must have happened unseen, if an agent's file tells another story than we do."""
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
            # That it asks no more is only to be believed of a file that said that it asks.
            return facts.InputSettled(session, "terminal") if was_asking else None
        case Activity.WORKING:
            return facts.TurnStarted(session, "")
        case Activity.PERMISSION:
            return facts.InputAsked(session, "permission", claim.detail)
        case Activity.QUESTION:
            return facts.InputAsked(session, "question", claim.detail)
