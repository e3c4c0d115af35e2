"""The command that starts a session."""

from __future__ import annotations

from typing import Unpack

import click

from rookery.cli.options import examples, pass_client
from rookery.cli.report import SessionWait, awaited, report, report_answer
from rookery.cli.start_options import StartCommand, StartOptions, begin, start_options
from rookery.client import Client


@click.command(
    cls=StartCommand,
    epilog=examples(
        'rookery start claude "fix the failing test"',
        'rookery start codex --name api --project ~/code/api --wait "What is this?"',
        "rookery start claude -- --add-dir ../lib",
        "rookery start shell --name repl -- python3 -q",
    ),
)
@click.option(
    "--wait", is_flag=True, help="Wait until it is up; with a prompt, print its answer."
)
@start_options
@pass_client
def start(daemon: Client, *, wait: bool, **given: Unpack[StartOptions]) -> None:
    """Start an agent in this folder, optionally with a PROMPT; "-" reads standard input.

    The first word may be the agent. What follows "--" is given to the agent's program; for the
    agent "shell" it is the command to run. With --wait it exits with 1 if the session or its
    first turn fails, and with 6 if it needs you and standard input is no terminal.
    """
    session = begin(daemon, given)
    if not wait:
        report(daemon, session, as_json=given["as_json"])
        return
    until = "stop" if session.first_prompt else "up"
    session = awaited(
        daemon, session, SessionWait(until, given["timeout"], given["on_permission"])
    )
    if given["single_turn"] and session.state == "idle":
        # The session ends just after its turn; without a wait it would be reported as idle.
        session = awaited(daemon, session, SessionWait("end", given["timeout"]))
    report_answer(daemon, session, as_json=given["as_json"])
