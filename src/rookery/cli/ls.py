"""The command that lists sessions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import click

from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import HELD, at_deadline, out_of_date, remark, reply, rules_warning
from rookery.cli.session_table import show_sessions
from rookery.client import Client
from rookery.client.sessions import PendingInfo, SessionList, list_sessions


@click.command(epilog=examples("rookery ls", "rookery ls --all --tree", "rookery ls --json"))
@click.option("--all", "-a", "everything", is_flag=True, help="Also older ones.")
@click.option("--tree", is_flag=True, help="Show each below the session that started it.")
@as_json
@pass_client
def ls(daemon: Client, *, everything: bool, tree: bool, as_json: bool) -> None:
    """List sessions; those that wait for you come first."""
    listed = list_sessions(daemon, all=everything)
    reply(listed, partial(_show_list, listed, as_tree=tree), as_json=as_json)


def _show_list(listed: SessionList, *, as_tree: bool) -> None:
    if listed.holding:
        remark(HELD)
    if listed.trouble:
        remark(out_of_date(listed.trouble))
    if listed.hooks_problem:
        remark(f"{listed.hooks_problem}.")
    if listed.rules_problem:
        remark(rules_warning(listed.rules_problem))
    show_sessions(
        listed.sessions,
        kept=listed.kept,
        failures=listed.failures,
        asked=_deadlines(listed.pending, listed.on_timeout),
        as_tree=as_tree,
    )


def _deadlines(pending: Mapping[str, PendingInfo], on_timeout: str) -> dict[str, str]:
    """Return a note for each session about the deadline of its request, or that it passed."""
    notes = {}
    for session, each in pending.items():
        if each.missed:
            notes[session] = "missed"
        elif each.deadline:
            notes[session] = at_deadline(each.deadline, on_timeout, each.fallback)
    return notes
