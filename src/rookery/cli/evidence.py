"""The command that shows the evidence for a session's state."""

from __future__ import annotations

from functools import partial

import click

from rookery.cli.completion import of_any_session
from rookery.cli.names import with_names_from
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import ago, does, out_of_date, reply, say, say_line
from rookery.client import Client
from rookery.client.sessions import EvidenceInfo, show_evidence
from rookery.model.reason_texts import first_line
from rookery.presentation.states import ended_by


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
    reason = f": {first_line(session.reason)}" if session.reason else ""
    since = ago(session.since)
    if ended := ended_by(session):
        say(f"{session.name} was {with_names_from(ended, daemon)} {since} ago.")
    else:
        say(f"{session.name} {does(session.state)} since {since}{reason}")
    say(
        out_of_date(evidence.trouble) if evidence.trouble else f"This is {evidence.confidence}."
    )
    _show_hook_problems(evidence)
    for each in evidence.evidence:
        detail = f"  ({each.detail})" if each.detail else ""
        say_line(f"  {each.source:10}  {each.claim:10}  {ago(each.at)} ago{detail}")
    if not evidence.has_terminal:
        say("It has no terminal: its pane is gone, so neither keys nor messages reach it.")
        say(f"End it with:  rookery end {session.name}")
    if shared := evidence.shares_with:
        say(
            f"It shares one conversation with {', '.join(shared)}: each sees only its own part."
        )
    if not evidence.evidence:
        say("  Nothing was reported yet.")


def _show_hook_problems(evidence: EvidenceInfo) -> None:
    """Print why hooks do not report, so that rules do not apply."""
    if evidence.hooks_off:
        say(f"Its hooks are disabled by {evidence.hooks_off}: no rule applies to it.")
    if evidence.hooks_problem:
        say(f"{evidence.hooks_problem}.")
    if evidence.hooks_missing:
        say(evidence.hooks_missing)
