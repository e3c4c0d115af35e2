"""The command that shows the evidence for a session's state."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import click

from rookery.cli.completion import of_any_session
from rookery.cli.names import with_names_from
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import ago, reply, say, say_line
from rookery.client import Client
from rookery.client.session_details import show_details
from rookery.client.sessions import EvidenceInfo, show_evidence
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


@click.command(epilog=examples("rookery why api", "rookery why api --json"))
@as_json
@of_any_session
@pass_client
def why(daemon: Client, *, name: str, as_json: bool) -> None:
    """Show a session's state, the evidence for it, and how certain it is."""
    evidence = show_evidence(daemon, name)
    reply(evidence, partial(_show, daemon, evidence), as_json=as_json)


def _show(daemon: Client, evidence: EvidenceInfo) -> None:
    session = evidence.session
    ended = with_names_from(ended_by(session), daemon)
    say(headline(session, ended, datetime.now(UTC)))
    say(certainty(evidence))
    if session.continues and not session.ended_at:
        cut_off = show_details(daemon, session.id).session.cut_off
        if cut_off:
            say(f"The turn before it was resumed was cut off: {one_line(cut_off)}")
    for problem in hook_problems(evidence):
        say(problem)
    _show_reports(evidence)
    if not evidence.has_terminal:
        say(PANE_GONE)
        say(f"End it with:  rookery end {session.name}")
    if shared := sharing_note(evidence):
        say(shared)


def _show_reports(evidence: EvidenceInfo) -> None:
    if not evidence.evidence:
        say(f"  {NOTHING_REPORTED}")
    elif evidence.session.ended_at:
        say(LAST_REPORTS)
    for each in evidence.evidence:
        detail = f"  ({each.detail})" if each.detail else ""
        say_line(f"  {each.source:10}  {each.claim:10}  {ago(each.at)} ago{detail}")
