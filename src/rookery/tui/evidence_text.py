"""The evidence for a session's state as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rookery.client.sessions import EvidenceInfo
from rookery.presentation.ages import age
from rookery.presentation.evidence import (
    LAST_REPORTS,
    NOTHING_REPORTED,
    PANE_GONE,
    certainty,
    headline,
    hook_problems,
    sharing_note,
)
from rookery.presentation.states import ended_by
from rookery.presentation.texts import one_line
from rookery.tui.styled import Span, StyledLine, line, paragraph


def evidence_lines(evidence: EvidenceInfo, now: datetime, width: int) -> list[StyledLine]:
    """Return the state, how certain it is, and what each source last reported."""
    session = evidence.session
    about = one_line(headline(session, ended_by(session), now))
    certain = paragraph(certainty(evidence), width, "failed" if evidence.trouble else "")
    lines = [*paragraph(about, width, "strong"), *certain]
    for problem in _problems(evidence):
        lines += paragraph(problem, width, "failed")
    lines.append(line(""))
    if session.ended_at and evidence.evidence:
        lines.append(line(LAST_REPORTS))
    for each in evidence.evidence:
        detail = f"  ({one_line(each.detail)})" if each.detail else ""
        claim = Span(f"  {each.source:<12}{each.claim:<12}")
        lines.append((claim, Span(f"{age(each.at, now):>4} ago{detail}", "faint")))
    return lines if evidence.evidence else [*lines, line(f"  {NOTHING_REPORTED}", "faint")]


def _problems(evidence: EvidenceInfo) -> Iterator[str]:
    yield from hook_problems(evidence)
    if not evidence.has_terminal:
        yield f"{PANE_GONE} End it with x."
    if shared := sharing_note(evidence):
        yield shared
