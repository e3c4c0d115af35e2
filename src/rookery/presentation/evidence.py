"""Word the evidence for a session's state, and what limits the session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rookery.client.sessions import EvidenceInfo, SessionInfo
from rookery.model.reason_texts import with_last_output
from rookery.presentation.ages import age
from rookery.presentation.states import state_word

#: Precedes the evidence for a session that has ended: it tells of the time before its end.
LAST_REPORTS = "Its last reports:"

NOTHING_REPORTED = "Nothing was reported yet."

PANE_GONE = "It has no terminal: its pane is gone, so neither keys nor messages reach it."


def headline(session: SessionInfo, ended: str, now: datetime) -> str:
    """Return a session's state and for how long; ``ended`` is what ended it, if known."""
    so_long = age(session.since, now)
    if ended:
        return f"{session.name}: {ended} {so_long} ago."
    reason = "" if session.has_failed_turn else with_last_output(session.reason)
    state = f"{session.name}: {state_word(session)} for {so_long}"
    return f"{state} ({reason})" if reason else state


def out_of_date(trouble: str) -> str:
    """Return a warning that the state may be old because the daemon cannot write."""
    return f"This may be out of date. {trouble}"


def rules_warning(problem: str) -> str:
    """Return a warning that the current rules file cannot be used."""
    return f"The rules file cannot be used: {problem}"


def certainty(evidence: EvidenceInfo) -> str:
    if evidence.trouble:
        return out_of_date(evidence.trouble)
    return f"This is {evidence.confidence}."


def hook_problems(evidence: EvidenceInfo) -> Iterator[str]:
    """Yield why hooks do not report, so that rules do not apply."""
    if evidence.hooks_off:
        yield f"Its hooks are disabled by {evidence.hooks_off}: no rule applies to it."
    if evidence.hooks_problem:
        yield f"{evidence.hooks_problem}."
    if evidence.hooks_missing:
        yield evidence.hooks_missing


def sharing_note(evidence: EvidenceInfo) -> str:
    """Return a note on the sessions that share a conversation; empty if none do."""
    if not evidence.shares_with:
        return ""
    names = ", ".join(evidence.shares_with)
    return f"It shares one conversation with {names}: each sees only its own part."
