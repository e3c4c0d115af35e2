"""The commands that wait for sessions and rename them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TypedDict, Unpack

import click

from rookery.cli.completion import of_session, session_names
from rookery.cli.daemon_waits import WaitGoal, WaitPlan, gathered, how_many, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, examples, pass_client
from rookery.cli.person_needed import (
    REPORT,
    WAIT,
    fails_when_asked,
    on_permission_option,
    person_needed,
    tell_of_dialog,
)
from rookery.cli.render import reply, say, show_json
from rookery.cli.report import SessionWait, awaited, has_failed, report, summary
from rookery.cli.wait_line import shown_during, wait_line
from rookery.client import Client
from rookery.client.sessions import SessionInfo, rename_session, show_session


class WaitOptions(TypedDict):
    until: str
    every: bool
    some: bool
    number: int | None
    timeout: float | None
    on_permission: str | None
    as_json: bool
    names: tuple[str, ...]


@click.command(
    epilog=examples("rookery wait builder", "rookery wait builder tester --any --timeout 600")
)
@click.option(
    "--until",
    type=click.Choice(["up", "stop", "end"]),
    default="stop",
    show_default=True,
    help="What to wait for: the agent is up, stops or needs you, or its session ends.",
)
@how_many
@click.option("--timeout", type=SECONDS, help="Seconds to wait. Default: no limit.")
@on_permission_option("in a terminal, end and report it; else exit with 6")
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
@pass_client
def wait(daemon: Client, **given: Unpack[WaitOptions]) -> None:
    """Wait until sessions stop, need you, or end.

    Each session is reported when it gets there. It waits for all of them, unless --any or
    --count is given. Exits with 1 if one of them, or its last turn, failed; with 6 if one of
    them needs you and standard input is no terminal.
    """
    names = given["names"]
    enough = WaitGoal(given["every"], given["some"], given["number"]).of(names, otherwise="all")
    if len(names) > 1:
        number = {"all": len(names), "any": 1}.get(str(enough)) or int(enough)
        _wait_for_several(daemon, given, number)
        return
    session = show_session(daemon, names[0])
    waits_on = WAIT if given["on_permission"] == WAIT else REPORT
    session = awaited(daemon, session, SessionWait(given["until"], given["timeout"], waits_on))
    report(daemon, session, as_json=given["as_json"])
    _require_no_person(daemon, [session], given)


def _require_no_person(
    daemon: Client, sessions: Sequence[SessionInfo], options: WaitOptions
) -> None:
    """Raise ``PersonNeeded`` if a session asks and --on-permission, or its default, is fail."""
    for session in sessions:
        if _ends_the_wait(session, options):
            raise person_needed(daemon, session)


def _ends_the_wait(session: SessionInfo, options: WaitOptions) -> bool:
    is_awaited_stop = options["until"] == "stop" and session.is_asking
    return is_awaited_stop and fails_when_asked(options["on_permission"])


def _wait_for_several(daemon: Client, options: WaitOptions, needed: int) -> None:
    names, reached = options["names"], list[SessionInfo]()
    tell = partial(tell_of_dialog, daemon) if options["on_permission"] == WAIT else None
    sessions = (show_session(daemon, each) for each in names)
    with stoppable(*names), wait_line(daemon, sessions) as line:
        plan = WaitPlan(
            needed, options["until"], options["timeout"], tell, partial(shown_during, line)
        )
        for session in gathered(daemon, names, plan):
            reached.append(session)
            if not options["as_json"]:
                say(summary(daemon, session))
                sys.stdout.flush()
            if _ends_the_wait(session, options):
                break
    if options["as_json"]:
        show_json({"sessions": [each.json for each in reached]})
    _require_no_person(daemon, reached, options)
    if any(map(has_failed, reached)):
        sys.exit(FAILED)


@click.command(epilog=examples("rookery rename api backend"))
@as_json
@of_session
@click.argument("new_name")
@pass_client
def rename(daemon: Client, *, name: str, new_name: str, as_json: bool) -> None:
    """Rename a session."""
    session = rename_session(daemon, name, new_name)
    reply(session, f"Renamed to {session.name}.", as_json=as_json)
