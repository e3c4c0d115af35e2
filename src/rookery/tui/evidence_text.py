"""The evidence for a session's state as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rookery.client.sessions import EvidenceInfo
from rookery.model.reason_texts import first_line
from rookery.presentation.ages import age
from rookery.presentation.states import state_word
from rookery.presentation.texts import one_line
from rookery.tui.styled import Span, StyledLine, line, paragraph


def evidence_lines(evidence: EvidenceInfo, now: datetime, width: int) -> list[StyledLine]:
    """Return the state, how certain it is, and what each source last reported."""
    session = evidence.session
    reason = f": {first_line(session.reason)}" if session.reason else ""
    since = age(session.since, now)
    about = f"{one_line(session.name)} is in state {state_word(session)} since {since}{reason}"
    lines = [*paragraph(about, width, "strong"), line(f"This is {evidence.confidence}.")]
    for problem in _problems(evidence):
        lines += paragraph(problem, width, "failed")
    lines.append(line(""))
    for each in evidence.evidence:
        detail = f"  ({one_line(each.detail)})" if each.detail else ""
        claim = Span(f"  {each.source:<12}{each.claim:<12}")
        lines.append((claim, Span(f"{age(each.at, now):>4} ago{detail}", "faint")))
    return (
        lines if evidence.evidence else [*lines, line("  Nothing was reported yet.", "faint")]
    )


def _problems(evidence: EvidenceInfo) -> Iterator[str]:
    if evidence.trouble:
        yield f"This may be out of date. {evidence.trouble}"
    if evidence.hooks_off:
        yield f"Its hooks are disabled by {evidence.hooks_off}: no rule applies to it."
    if evidence.hooks_problem:
        yield f"{evidence.hooks_problem}."
    if evidence.hooks_missing:
        yield evidence.hooks_missing
    if not evidence.has_terminal:
        yield "Its pane is gone, so neither keys nor messages reach it. End it with x."
    if evidence.shares_with:
        yield f"It shares one conversation with {', '.join(evidence.shares_with)}."
